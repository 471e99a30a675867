#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <optional>
#include <string>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier::binding {

// Anything with DLPack or the buffer protocol, in the memory of the CPU; never converted.
using AnyArray = nanobind::ndarray<nanobind::ro, nanobind::device::cpu>;

// An array of Python's, where it is; one whose elements do not lie one after the other is copied.
class Array {
 public:
  // Throws Error for elements that are no numbers Vernier knows.
  Array(std::string name, AnyArray array);
  Array(Array&&) noexcept = default;

  TensorView view() const;

 private:
  std::string name_;
  AnyArray array_;  // keeps the memory
  DType dtype_;
  Shape shape_;
  std::vector<std::byte> copy_;
  bool copied_ = false;
};

// Memory of ours as Python sees it; nothing may keep it longer than the memory lives.
nanobind::object memory_view(std::span<const std::byte> bytes);

// {"name": ..., "dtype": ..., "shape": ..., "bytes": ...}, as in docs/host-protocol.md.
nanobind::dict tensor_message(const TensorView& tensor);

}  // namespace vernier::binding
