#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vernier/model/onnx.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// The place of a tensor's elements in an external file.
struct ExternalData {
  std::string location;  // relative to the model's folder
  std::int64_t offset = 0;
  std::int64_t length = -1;  // in bytes; -1 if not given
  bool operator==(const ExternalData&) const = default;
};

Shape dims_of(const TensorProto& proto);

// The declared shape with -1 for dynamic dims; nullopt if none is declared.
std::optional<Shape> declared_shape(const ValueInfoProto& info);

// u8 for types that have no DType, whose elements cannot be read.
DType dtype_of(const TensorProto& proto);

bool has_external_data(const TensorProto& proto);
ExternalData external_data(const TensorProto& proto);

// Marks the elements as external and clears raw_data.
void set_external_data(TensorProto& proto, const ExternalData& data);

// The path of an external file. Throws Error unless it exists inside the folder: absolute paths,
// "..", and links to the outside are refused.
std::filesystem::path resolve_external(const std::filesystem::path& folder,
                                       const std::string& location);

// Bytes that the weight's type and dims imply; 0 if the dims are invalid or the type has no DType.
std::int64_t weight_bytes(const TensorProto& weight);

// The elements in the typed fields, as raw_data would hold them. Throws Error if their number does
// not fit type and dims.
std::vector<std::byte> typed_bytes(const TensorProto& proto);

// The bytes of raw_data. Throws Error if their number does not fit type and dims.
std::span<const std::byte> raw_bytes(const TensorProto& proto);

// The bytes of an external tensor within its file. Throws Error if they exceed the file, or if the
// declared length does not fit type and dims.
std::span<const std::byte> external_bytes(const TensorProto& proto,
                                          std::span<const std::byte> file);

// A proto with the tensor's bytes as raw_data.
TensorProto make_tensor_proto(const TensorView& tensor);

}  // namespace vernier
