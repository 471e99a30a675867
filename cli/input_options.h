#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/dataset_options.h"
#include "vernier/data/samples.h"
#include "vernier/tensor/tensor.h"

namespace vernier::cli {

// What a command feeds to models, the same options for every command that runs one.
struct InputOptions {
  std::int64_t default_samples = 1;
  std::string default_distribution = "uniform";
  std::optional<std::int64_t> samples;
  std::optional<std::int64_t> sample_index;
  std::uint64_t seed = 42;
  std::vector<std::string> shapes;  // NAME=1x3x224x224, or without a name
  std::vector<std::string> ranges;  // NAME=LOW:HIGH, or without a name
  std::string distribution;         // empty: the default
  std::string data;                 // .npz or folder
  DatasetFlags dataset;
  // Neither: random.
};

// --samples --seed --shape --input-range --input-dist --input-data --sample-index, and those of
// datasets
void add_input_options(CLI::App& command, InputOptions& options);

struct Inputs {
  std::unique_ptr<Samples> samples;
  std::string description;  // "random uniform, seed 42" or the file's name
  std::vector<std::string> warnings;
};

// The samples for a model with these inputs. How images are prepared is looked for beside `model`;
// index ranges of integer inputs are looked for in `model` when it is an ONNX file. Throws Error
// for options that do not fit.
Inputs make_inputs(const InputOptions& options, std::span<const TensorSpec> inputs,
                   const std::filesystem::path& model);

// "warning: ..." on stderr, a line each.
void print_warnings(std::span<const std::string> warnings);

}  // namespace vernier::cli
