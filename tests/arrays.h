#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "vernier/tensor/npz.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// float32 elements first, first + 1, first + 2...
inline Tensor ramp(const std::string& name, const Shape& shape, float first = 0) {
  Tensor tensor = make_tensor(name, DType::f32, shape);
  for (float& element : elements<float>(tensor)) element = first++;
  return tensor;
}

inline std::filesystem::path write_npz(const std::filesystem::path& path,
                                       const std::vector<Tensor>& tensors) {
  NpzWriter writer(path);
  for (const Tensor& tensor : tensors) writer.add(tensor.name, tensor);
  writer.finish();
  return path;
}

}  // namespace vernier
