#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// Named arrays on disk, read one at a time: an .npy file (one array, named after the file), an .npz
// archive, or a folder of .npy files (sorted by name).
struct Arrays {
  std::vector<std::string> names;
  std::function<Tensor(const std::string& name)> read;
};
Arrays open_arrays(const std::filesystem::path& path);

// Reads one array: "a.npy", "a.npz" if it holds only one, or "a.npz:name".
Tensor read_array(const std::string& argument);

}  // namespace vernier
