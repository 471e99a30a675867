#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "vernier/data/samples.h"
#include "vernier/tensor/tensor.h"
#include "vernier/warning.h"

namespace vernier {

struct NpzBatches {
  std::unique_ptr<Samples> samples;
  std::vector<Warning> warnings;  // casts, permuted axes, leftover rows, unused arrays
};

// Samples from an .npz or a folder of .npz files with one array per input, or from an .npy for a
// model with one input. Arrays are matched by name, by `other_names` (array name -> input name), or
// by position if the names only number the arrays.
// - An array of the input's rank holds rows along the batch axis: a sample takes B rows, where B is
//   the batch size; if that is dynamic, B is from `shapes`, or 1.
// - An array of one more dimension holds whole samples along its leading axis; so does an array
//   whose rows differ from the input's shape only by axes of size 1.
// - Another dtype is cast. An image that fits only in the other channel layout is permuted.
// - An input of unknown rank takes the array's dtype and shape: a row is a sample, or in a folder a
//   whole file is.
// Throws Error if an array is missing or does not fit.
NpzBatches npz_batches(const std::filesystem::path& path, std::span<const TensorSpec> inputs,
                       const std::map<std::string, Shape>& shapes = {},
                       const std::map<std::string, std::string>& other_names = {});

}  // namespace vernier
