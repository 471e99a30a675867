#pragma once

#include <filesystem>

#include "vernier/tensor/tensor.h"

namespace vernier {

// Reads a file in the IDX format of the MNIST database, gzipped or not: bytes of any rank. What the
// header claims is checked against the file's size first.
Tensor read_idx(const std::filesystem::path& path);

}  // namespace vernier
