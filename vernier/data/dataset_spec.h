#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/data/dataset.h"
#include "vernier/data/loader.h"
#include "vernier/warning.h"

namespace vernier {

// Changes to the preprocessing that the files next to a model describe.
struct PreprocessingChanges {
  std::filesystem::path file;      // read instead of the file next to the model; empty if not set
  std::optional<Size> image_size;  // resize to exactly this size
  int resize_edge = 0;             // resize the shorter edge to this length; 0 if not set
  std::optional<Size> center_crop;
  std::optional<Filter> filter;
  std::optional<double> rescale_factor;
  std::vector<double> mean;  // empty if not set
  std::vector<double> std;   // empty if not set
  bool operator==(const PreprocessingChanges&) const = default;
};

// A dataset, and how its examples become a model's inputs.
struct DatasetSpec {
  std::string name;  // for open_dataset(); empty if there is no dataset
  DatasetOptions options;
  std::optional<bool> shuffle;  // nullopt for the command's default
  std::int64_t batch = 1;       // if the model's batch axis is dynamic
  std::optional<std::int64_t> max_bad;
  std::filesystem::path label_mapping;  // empty if the dataset's labels are the model's
  PreprocessingChanges preprocessing;
};

// Parses "224" or "384x512", height first; nullopt for other text.
std::optional<Size> parse_size(std::string_view text);

// "digits, test split, shuffled with seed 42": for reports, without the folder's path.
std::string describe_dataset(const DatasetSpec& spec, std::uint64_t seed);

// The preprocessing in the file next to `model`, or in changes.file, with the changes applied.
Preprocessing make_preprocessing(const PreprocessingChanges& changes,
                                 const std::filesystem::path& model);

// "resized to 256x256 (bicubic), cropped to 224x224, times 0.00392157, minus 0.5, over 0.5".
std::string describe_preprocessing(const Preprocessing& preprocessing);

// The loader options for a dataset with these classes and for `model`.
LoaderOptions loader_options(const DatasetSpec& spec, const std::filesystem::path& model,
                             Needs needs = Needs::nothing,
                             const std::vector<std::string>& classes = {});

// One for each kind of example that was left out; the last has the first problem.
std::vector<Warning> dataset_warnings(const DatasetReport& report);

}  // namespace vernier
