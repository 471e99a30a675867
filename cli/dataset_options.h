#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vernier/data/dataset.h"
#include "vernier/data/loader.h"

namespace vernier::cli {

// A dataset and how its images are prepared, the same options for every command that takes one.
struct DatasetFlags {
  std::string name;  // empty: none
  std::string split;
  bool shuffle = false;
  std::vector<std::string> columns;  // image=NAME, label=NAME
  std::int64_t batch = 1;
  std::optional<std::int64_t> max_bad;
  std::string label_mapping;  // file
  std::string preprocess;     // file
  std::string image_size;     // HxW, or N for NxN
  int resize_edge = 0;
  std::string center_crop;  // HxW, or N for NxN
  std::string interpolation;
  std::optional<double> rescale;
  std::vector<double> mean;
  std::vector<double> std;
};

// --dataset --split --shuffle --column --batch --max-bad --preprocess --image-size --resize-edge
// --center-crop --interpolation --rescale --mean --std. Returns --dataset, to be excluded with
// others.
CLI::Option* add_dataset_options(CLI::App& command, DatasetFlags& flags);

// Throws Error for a column that is neither image nor label.
std::unique_ptr<Dataset> open_dataset(const DatasetFlags& flags);

// "digits, test split, shuffled with seed 42": for reports, without folders.
std::string describe_dataset(const DatasetFlags& flags, std::uint64_t seed);

// What --preprocess, else the files beside the model say, changed by the other flags.
Preprocessing make_preprocessing(const DatasetFlags& flags, const std::filesystem::path& model);

// --label-mapping, for commands that look at labels.
void add_label_options(CLI::App& command, DatasetFlags& flags);

// Everything but what concerns labels.
LoaderOptions loader_options(const DatasetFlags& flags, const std::filesystem::path& model);

// For a task that needs labels or targets, over a dataset of these classes.
LoaderOptions labelled_loader_options(const DatasetFlags& flags, const std::filesystem::path& model,
                                      const std::vector<std::string>& classes, Needs needs);

// One line for each kind of example that was left out.
std::vector<std::string> warnings_of(const DatasetReport& report);

}  // namespace vernier::cli
