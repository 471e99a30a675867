#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/data/dataset.h"
#include "vernier/data/loader.h"

namespace vernier {

// What differs from the preprocessing that the files beside a model describe.
struct PreprocessingChanges {
  std::filesystem::path file;      // read instead of the file beside the model; empty: that one
  std::optional<Size> image_size;  // resize to exactly this
  int resize_edge = 0;             // resize so that the shorter edge has this length; 0: not set
  std::optional<Size> center_crop;
  std::optional<Filter> filter;
  std::optional<double> rescale_factor;
  std::vector<double> mean;  // empty: not set
  std::vector<double> std;   // likewise
  bool operator==(const PreprocessingChanges&) const = default;
};

// A dataset, and how its examples become a model's inputs.
struct DatasetSpec {
  std::string name;  // as open_dataset() takes it; empty: none
  DatasetOptions options;
  std::optional<bool> shuffle;  // unset: as the command does
  std::int64_t batch = 1;       // where the model's batch axis is dynamic
  std::optional<std::int64_t> max_bad;
  std::filesystem::path label_mapping;  // empty: the dataset's labels are the model's
  PreprocessingChanges preprocessing;
};

// "224" or "384x512", height first; nothing for another text.
std::optional<Size> parse_size(std::string_view text);

// "digits, test split, shuffled with seed 42": for reports, without folders.
std::string describe_dataset(const DatasetSpec& spec, std::uint64_t seed);

// What the file beside `model` (or the one named in `changes`) says, with the changes applied.
Preprocessing make_preprocessing(const PreprocessingChanges& changes,
                                 const std::filesystem::path& model);

// "resized to 256x256 (bicubic), cropped to 224x224, times 0.00392157, minus 0.5, over 0.5".
std::string describe_preprocessing(const Preprocessing& preprocessing);

// How the examples of a dataset with these classes are loaded for `model`.
LoaderOptions loader_options(const DatasetSpec& spec, const std::filesystem::path& model,
                             Needs needs = Needs::nothing,
                             const std::vector<std::string>& classes = {});

// One sentence for each kind of example that was left out.
std::vector<std::string> dataset_warnings(const DatasetReport& report);

}  // namespace vernier
