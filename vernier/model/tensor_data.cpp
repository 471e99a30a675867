#include "vernier/model/tensor_data.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <charconv>

#include "vernier/error.h"
#include "vernier/model/onnx_type.h"

namespace vernier {
namespace {

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
                          onnx_type_name(proto.data_type()), format_shape(dims_of(proto)), expected,
                          found));
}

DType number_type(const TensorProto& proto) {
  const auto dtype = dtype_of_onnx(proto.data_type());
  if (!dtype)
    throw Error(fmt::format("[model] tensor '{}': elements of {} cannot be read as numbers",
                            proto.name(), onnx_type_name(proto.data_type())));
  return *dtype;
}

std::int64_t expected_bytes(const TensorProto& proto) {
  return byte_size(number_type(proto), element_count(dims_of(proto)));
}

}  // namespace

Shape dims_of(const TensorProto& proto) { return {proto.dims().begin(), proto.dims().end()}; }

std::optional<Shape> declared_shape(const ValueInfoProto& info) {
  if (!info.type().tensor_type().has_shape()) return std::nullopt;
  Shape shape;
  for (const auto& dim : info.type().tensor_type().shape().dim())
    shape.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
  return shape;
}

DType dtype_of(const TensorProto& proto) {
  return dtype_of_onnx(proto.data_type()).value_or(DType::u8);
}

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

void set_external_data(TensorProto& proto, const ExternalData& data) {
  proto.clear_raw_data();
  proto.clear_external_data();
  const auto add = [&](const char* key, const std::string& value) {
    auto& entry = *proto.add_external_data();
    entry.set_key(key);
    entry.set_value(value);
  };
  add("location", data.location);
  add("offset", std::to_string(data.offset));
  add("length", std::to_string(data.length));
  proto.set_data_location(TensorProto::EXTERNAL);
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

std::span<const std::byte> raw_bytes(const TensorProto& proto) {
  const std::int64_t bytes = expected_bytes(proto);
  const auto raw = std::as_bytes(std::span(proto.raw_data()));
  if (std::ssize(raw) != bytes) wrong_size(proto, bytes, std::ssize(raw));
  return raw;
}

std::span<const std::byte> external_bytes(const TensorProto& proto,
                                          std::span<const std::byte> file) {
  const ExternalData data = external_data(proto);
  const std::int64_t bytes = expected_bytes(proto);
  const auto size = static_cast<std::int64_t>(file.size());
  if (data.length >= 0 && data.length != bytes) wrong_size(proto, bytes, data.length);
  if (data.offset > size || bytes > size - data.offset)
    throw Error(
        fmt::format("[model] tensor '{}': needs {} bytes from byte {} of '{}', which has {}",
                    proto.name(), bytes, data.offset, data.location, size));
  return file.subspan(data.offset, bytes);
}

std::int64_t weight_bytes(const TensorProto& weight) {
  const auto count = checked_element_count(dims_of(weight));
  const auto dtype = dtype_of_onnx(weight.data_type());
  return count && dtype ? byte_size(*dtype, *count) : 0;
}

std::vector<std::byte> typed_bytes(const TensorProto& proto) {
  const std::int64_t bytes = expected_bytes(proto);
  // 4-bit values are packed in int32_data as in raw_data, one byte per entry.
  const DType dtype = number_type(proto);
  const std::int64_t found = field_size(proto, dtype) * std::max(bits(dtype) / 8, 1);
  if (found != bytes) wrong_size(proto, bytes, found);
  Tensor tensor = make_tensor(proto.name(), dtype, dims_of(proto));
  read_field(proto, dtype, tensor.bytes);
  return std::move(tensor.bytes);
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
