#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// Named arrays on disk, read one at a time: an .npy file (one array, named after the file), an .npz
// archive, or a folder of .npy files (sorted by name).
class Arrays {
 public:
  virtual ~Arrays() = default;
  virtual const std::vector<std::string>& names() const = 0;
  virtual Tensor read(const std::string& name) const = 0;
};

std::unique_ptr<Arrays> open_arrays(const std::filesystem::path& path);

// Reads one array: "a.npy", "a.npz" if it holds only one, or "a.npz:name".
Tensor read_array(const std::string& argument);

}  // namespace vernier
