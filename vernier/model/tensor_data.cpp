#include "vernier/model/tensor_data.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <charconv>
#include <cstring>
#include <fstream>

#include "vernier/error.h"
#include "vernier/model/onnx_type.h"

namespace vernier {
namespace {

using vernier_onnx::TensorProto;

std::int64_t parse_size(const TensorProto& proto, const std::string& text) {
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() || value < 0)
    throw Error(
        fmt::format("[model] tensor '{}': external data has offset or length '{}', expected "
                    "a number of bytes",
                    proto.name(), text));
  return value;
}

// Copies the values of a typed field, one by one, into elements of T.
template <typename T, typename Field>
void copy_field(const Field& field, std::vector<std::byte>& bytes) {
  T* out = reinterpret_cast<T*>(bytes.data());
  for (const auto value : field) *out++ = static_cast<T>(value);
}

std::int64_t field_size(const TensorProto& proto, DType dtype) {
  switch (dtype) {
    case DType::f32: return proto.float_data_size();
    case DType::f64: return proto.double_data_size();
    case DType::i64: return proto.int64_data_size();
    case DType::u32:
    case DType::u64: return proto.uint64_data_size();
    default: return proto.int32_data_size();
  }
}

void read_field(const TensorProto& proto, DType dtype, std::vector<std::byte>& bytes) {
  switch (dtype) {
    case DType::f32: return copy_field<float>(proto.float_data(), bytes);
    case DType::f64: return copy_field<double>(proto.double_data(), bytes);
    case DType::i64: return copy_field<std::int64_t>(proto.int64_data(), bytes);
    case DType::u32: return copy_field<std::uint32_t>(proto.uint64_data(), bytes);
    case DType::u64: return copy_field<std::uint64_t>(proto.uint64_data(), bytes);
    case DType::i32: return copy_field<std::int32_t>(proto.int32_data(), bytes);
    case DType::f16:
    case DType::bf16:
    case DType::i16:
    case DType::u16: return copy_field<std::uint16_t>(proto.int32_data(), bytes);
    default: return copy_field<std::uint8_t>(proto.int32_data(), bytes);
  }
}

[[noreturn]] void wrong_size(const TensorProto& proto, std::int64_t expected, std::int64_t found) {
  throw Error(fmt::format("[model] tensor '{}': {}{} takes {} bytes, found {}", proto.name(),
                          onnx_type_name(proto.data_type()),
                          format_shape(Shape(proto.dims().begin(), proto.dims().end())), expected,
                          found));
}

Tensor read_external(const TensorProto& proto, const std::filesystem::path& folder, DType dtype,
                     Shape shape, std::int64_t bytes) {
  const ExternalData data = external_data(proto);
  const std::filesystem::path path = resolve_external(folder, data.location);
  if (data.length >= 0 && data.length != bytes) wrong_size(proto, bytes, data.length);
  const auto file_size = static_cast<std::int64_t>(std::filesystem::file_size(path));
  if (data.offset > file_size || bytes > file_size - data.offset)
    throw Error(fmt::format("[model] tensor '{}': needs bytes {} to {} of '{}', which has {}",
                            proto.name(), data.offset, data.offset + bytes, data.location,
                            file_size));
  Tensor tensor = make_tensor(proto.name(), dtype, std::move(shape));
  std::ifstream file(path, std::ios::binary);
  file.seekg(data.offset);
  if (!file.read(reinterpret_cast<char*>(tensor.bytes.data()), bytes))
    throw Error(fmt::format("[model] tensor '{}': cannot read '{}'", proto.name(), data.location));
  return tensor;
}

}  // namespace

bool has_external_data(const TensorProto& proto) {
  return proto.data_location() == TensorProto::EXTERNAL;
}

ExternalData external_data(const TensorProto& proto) {
  ExternalData data;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") data.location = entry.value();
    if (entry.key() == "offset") data.offset = parse_size(proto, entry.value());
    if (entry.key() == "length") data.length = parse_size(proto, entry.value());
  }
  return data;
}

std::filesystem::path resolve_external(const std::filesystem::path& folder,
                                       const std::string& location) {
  const std::filesystem::path relative(location);
  const auto refuse = [&](const char* found) {
    return Error(fmt::format(
        "[model] external data '{}': expected a file in the model's folder, {}", location, found));
  };
  if (location.empty()) throw refuse("found no location");
  if (relative.is_absolute()) throw refuse("found an absolute path");
  for (const auto& part : relative)
    if (part == "..") throw refuse("found a path with '..'");
  std::error_code failure;
  const auto root = std::filesystem::canonical(folder.empty() ? "." : folder, failure);
  if (failure) throw refuse("found no such folder");
  const auto file = std::filesystem::canonical(root / relative, failure);
  if (failure || !std::filesystem::is_regular_file(file)) throw refuse("found no such file");
  const auto [end, rest] = std::mismatch(root.begin(), root.end(), file.begin(), file.end());
  if (end != root.end()) throw refuse("found a link that leaves it");
  return file;
}

Tensor read_tensor(const TensorProto& proto, const std::filesystem::path& folder) {
  const auto dtype = dtype_of_onnx(proto.data_type());
  if (!dtype)
    throw Error(fmt::format("[model] tensor '{}': elements of {} cannot be read as numbers",
                            proto.name(), onnx_type_name(proto.data_type())));
  Shape shape(proto.dims().begin(), proto.dims().end());
  const std::int64_t bytes = byte_size(*dtype, element_count(shape));
  if (has_external_data(proto))
    return read_external(proto, folder, *dtype, std::move(shape), bytes);

  // 4-bit values come packed in int32_data, one byte to an entry, as they do in raw_data.
  const std::int64_t width = std::max(bits(*dtype) / 8, 1);
  const std::int64_t found = proto.has_raw_data()
                                 ? static_cast<std::int64_t>(proto.raw_data().size())
                                 : field_size(proto, *dtype) * width;
  if (found != bytes) wrong_size(proto, bytes, found);
  Tensor tensor = make_tensor(proto.name(), *dtype, std::move(shape));
  if (proto.has_raw_data())
    std::memcpy(tensor.bytes.data(), proto.raw_data().data(), proto.raw_data().size());
  else
    read_field(proto, *dtype, tensor.bytes);
  return tensor;
}

TensorProto make_tensor_proto(const TensorView& tensor) {
  TensorProto proto;
  proto.set_name(std::string(tensor.name));
  proto.set_data_type(onnx_data_type(tensor.dtype));
  for (const std::int64_t dim : tensor.shape) proto.add_dims(dim);
  proto.set_raw_data(tensor.bytes.data(), tensor.bytes.size());
  return proto;
}

}  // namespace vernier
