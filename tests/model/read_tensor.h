#pragma once

#include <vernier_onnx.pb.h>

#include <filesystem>
#include <span>

#include "vernier/model/model.h"
#include "vernier/model/tensor_data.h"

namespace vernier {

// The tensor as a model in the folder holds it, and one whose elements are in the bytes of a file.
inline Tensor read_tensor(const TensorProto& proto, const std::filesystem::path& folder) {
  return Model(ModelProto(), folder).tensor(proto);
}

inline Tensor read_tensor(const TensorProto& proto, std::span<const std::byte> file) {
  const auto bytes = external_bytes(proto, file);
  return {proto.name(), dtype_of(proto), dims_of(proto), {bytes.begin(), bytes.end()}};
}

}  // namespace vernier
