#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <string>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier::binding {

// An object with DLPack or the buffer protocol, in CPU memory; never converted.
using AnyArray = nanobind::ndarray<nanobind::ro, nanobind::device::cpu>;

// A Python array, used in place; an array that is not contiguous is copied.
class Array {
 public:
  // Throws Error if Vernier does not support the element type.
  Array(std::string name, AnyArray array);
  Array(Array&&) noexcept = default;

  TensorView view() const;

 private:
  std::string name_;
  AnyArray array_;  // keeps the memory alive
  DType dtype_;
  Shape shape_;
  std::vector<std::byte> copy_;
  bool copied_ = false;
};

// A Python memoryview of `bytes`, which must not be used after the memory is freed.
nanobind::object memory_view(std::span<const std::byte> bytes);

// {"name": ..., "dtype": ..., "shape": ..., "bytes": ...}, as in docs/host-protocol.md.
nanobind::dict tensor_message(const TensorView& tensor);

}  // namespace vernier::binding
