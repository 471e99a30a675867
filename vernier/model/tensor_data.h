#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "vernier/tensor/tensor.h"

namespace vernier_onnx {
class TensorProto;
}

namespace vernier {

// Where an initializer's elements are when they are in a file of their own.
struct ExternalData {
  std::string location;  // relative to the model's folder
  std::int64_t offset = 0;
  std::int64_t length = -1;  // -1: to the end of the file
  bool operator==(const ExternalData&) const = default;
};

Shape dims_of(const vernier_onnx::TensorProto& proto);

// u8 for types that have no DType: their elements cannot be viewed.
DType dtype_of(const vernier_onnx::TensorProto& proto);

bool has_external_data(const vernier_onnx::TensorProto& proto);
ExternalData external_data(const vernier_onnx::TensorProto& proto);

// Says that the elements are in a file, and drops those in the proto.
void set_external_data(vernier_onnx::TensorProto& proto, const ExternalData& data);

// The file of an external location. Throws Error unless it is inside the folder: absolute paths,
// "..", and links that lead out are refused.
std::filesystem::path resolve_external(const std::filesystem::path& folder,
                                       const std::string& location);

// Bytes of a weight's elements, by its type and dims; 0 where these make no sense.
std::int64_t weight_bytes(const vernier_onnx::TensorProto& weight);

// The tensor with its elements, from raw_data, the typed fields, or a file below `folder`.
Tensor read_tensor(const vernier_onnx::TensorProto& proto, const std::filesystem::path& folder);

// The same, with external data taken from the bytes of its file.
Tensor read_tensor(const vernier_onnx::TensorProto& proto, std::span<const std::byte> file);

// The bytes of raw_data; Error if they are not as many as the tensor takes.
std::span<const std::byte> raw_bytes(const vernier_onnx::TensorProto& proto);

// The bytes of an external tensor in those of its file; Error if they are not all there.
std::span<const std::byte> external_bytes(const vernier_onnx::TensorProto& proto,
                                          std::span<const std::byte> file);

// A proto with the tensor's bytes as raw_data.
vernier_onnx::TensorProto make_tensor_proto(const TensorView& tensor);

}  // namespace vernier
