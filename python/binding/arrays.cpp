#include "python/binding/arrays.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <cstring>

#include "vernier/error.h"

namespace nb = nanobind;

namespace vernier::binding {
namespace {

std::optional<DType> dtype_of(const nb::dlpack::dtype& dtype) {
  using Code = nb::dlpack::dtype_code;
  if (dtype.lanes != 1) return std::nullopt;
  const char* kind = nullptr;
  switch (static_cast<Code>(dtype.code)) {
    case Code::Float: kind = "float"; break;
    case Code::Bfloat: kind = "bfloat"; break;
    case Code::Int: kind = "int"; break;
    case Code::UInt: kind = "uint"; break;
    case Code::Bool: return dtype.bits == 8 ? std::optional(DType::boolean) : std::nullopt;
    default: return std::nullopt;
  }
  return parse_dtype(fmt::format("{}{}", kind, static_cast<int>(dtype.bits)));
}

bool is_contiguous(const AnyArray& array) {
  std::int64_t stride = 1;
  for (std::size_t i = array.ndim(); i-- > 0;) {
    if (array.shape(i) != 1 && array.stride(i) != stride) return false;
    stride *= static_cast<std::int64_t>(array.shape(i));
  }
  return true;
}

// Copies the elements from `axis` on in C order; returns the end of the written bytes.
std::byte* gather(const AnyArray& array, std::size_t axis, const std::byte* from, std::byte* to) {
  const auto size = static_cast<std::int64_t>(array.itemsize());
  if (axis == array.ndim()) {
    std::memcpy(to, from, array.itemsize());
    return to + size;
  }
  for (std::size_t i = 0; i < array.shape(axis); ++i, from += array.stride(axis) * size)
    to = gather(array, axis + 1, from, to);
  return to;
}

}  // namespace

Array::Array(std::string name, AnyArray array) : name_(std::move(name)), array_(std::move(array)) {
  const auto dtype = dtype_of(array_.dtype());
  if (!dtype)
    throw Error(fmt::format(
        "[arrays] '{}': its elements are no numbers of 8 to 64 bits; convert it first", name_));
  dtype_ = *dtype;
  for (std::size_t i = 0; i < array_.ndim(); ++i)
    shape_.push_back(static_cast<std::int64_t>(array_.shape(i)));
  if (array_.size() == 0 || is_contiguous(array_)) return;
  copied_ = true;
  copy_.resize(array_.nbytes());
  gather(array_, 0, static_cast<const std::byte*>(array_.data()), copy_.data());
}

TensorView Array::view() const {
  if (copied_) return {name_, dtype_, shape_, copy_};
  return {name_, dtype_, shape_, {static_cast<const std::byte*>(array_.data()), array_.nbytes()}};
}

nb::object memory_view(std::span<const std::byte> bytes) {
  static char nothing = 0;  // an empty view needs a valid address too
  auto* data =
      bytes.empty() ? &nothing : const_cast<char*>(reinterpret_cast<const char*>(bytes.data()));
  return nb::steal(
      PyMemoryView_FromMemory(data, static_cast<Py_ssize_t>(bytes.size()), PyBUF_READ));
}

nb::dict tensor_message(const TensorView& tensor) {
  nb::list shape;
  for (const std::int64_t size : tensor.shape) shape.append(size);
  nb::dict message;
  message["name"] = nb::str(tensor.name.data(), tensor.name.size());
  message["dtype"] = nb::str(std::string(dtype_name(tensor.dtype)).c_str());
  message["shape"] = shape;
  message["bytes"] = tensor.bytes.size();
  return message;
}

}  // namespace vernier::binding
