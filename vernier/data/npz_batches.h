#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "vernier/data/samples.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

struct NpzBatches {
  std::unique_ptr<Samples> samples;
  std::vector<std::string> warnings;  // casts, rows left over, arrays that are no input
};

// Samples from an .npz, or a folder of .npz files, with one array for each input, of exactly its
// name or, by `other_names` (the array's: the input's), another; or from an .npy, for a model of
// one input. An array of the input's rank holds rows of its batch axis: a batch of B takes B rows a
// sample, B being 1 where it is dynamic unless `shapes` gives it. An array with one more dimension
// holds whole samples along that leading axis, and so does one whose rows differ from the input's
// shape by axes of size 1 alone. Another dtype is cast, and an image that fits only with its
// channels first, or last, is permuted. For an input without a known rank, the array's dtype and
// shape are taken: a row a sample, a whole file of a folder. Throws Error for what does not fit.
NpzBatches npz_batches(const std::filesystem::path& path, std::span<const TensorSpec> inputs,
                       const std::map<std::string, Shape>& shapes = {},
                       const std::map<std::string, std::string>& other_names = {});

}  // namespace vernier
