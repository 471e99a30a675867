#include "vernier/analysis/check/batches.h"

#include <algorithm>

#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// The tensor as `outer` consecutive pieces: one for each index of the axes before `axis`.
struct Strides {
  std::int64_t outer = 1;
  std::int64_t bytes = 0;  // of one piece
};

Strides strides(const Tensor& tensor, std::size_t axis) {
  Strides found;
  for (std::size_t i = 0; i < axis; ++i) found.outer *= tensor.shape[i];
  if (found.outer > 0) found.bytes = std::ssize(tensor.bytes) / found.outer;
  return found;
}

// Two 4-bit elements share a byte, so that rows cannot be cut at bytes.
bool shares_bytes(DType dtype) { return bits(dtype) == 4; }
Tensor in_bytes(const Tensor& tensor) {
  return convert(tensor, is_signed(tensor.dtype) ? DType::i8 : DType::u8);
}

Tensor join(std::span<const Tensor* const> parts, std::size_t axis) {
  if (shares_bytes(parts[0]->dtype)) {
    std::vector<Tensor> widened;
    std::vector<const Tensor*> pointers;
    for (const Tensor* part : parts) widened.push_back(in_bytes(*part));
    for (const Tensor& part : widened) pointers.push_back(&part);
    return convert(join(pointers, axis), parts[0]->dtype);
  }
  Tensor joined{.name = parts[0]->name, .dtype = parts[0]->dtype, .shape = parts[0]->shape};
  joined.shape[axis] = 0;
  for (const Tensor* part : parts) joined.shape[axis] += part->shape[axis];
  for (std::int64_t i = 0; i < strides(*parts[0], axis).outer; ++i)
    for (const Tensor* part : parts) {
      const std::int64_t bytes = strides(*part, axis).bytes;
      const auto begin = part->bytes.begin() + i * bytes;
      joined.bytes.insert(joined.bytes.end(), begin, begin + bytes);
    }
  return joined;
}

const DynamicAxis::Place* place_of(const DynamicAxis& axis, std::size_t input) {
  const auto found = std::ranges::find(axis.places, input, &DynamicAxis::Place::input);
  return found == axis.places.end() ? nullptr : &*found;
}

bool same_shapes(const std::vector<Tensor>& left, const std::vector<Tensor>& right) {
  return std::ranges::equal(left, right, {}, &Tensor::shape, &Tensor::shape);
}

}  // namespace

std::vector<Sample> like_first(std::span<const Sample> samples, std::int64_t count) {
  std::vector<Sample> alike;
  for (std::size_t i = 0; std::ssize(alike) < count; i = (i + 1) % samples.size())
    if (same_shapes(samples[i], samples[0])) alike.push_back(samples[i]);
  return alike;
}

Sample join_samples(std::span<const Sample> samples, const DynamicAxis& axis) {
  std::vector<Tensor> joined;
  for (std::size_t input = 0; input < samples[0].size(); ++input) {
    const DynamicAxis::Place* place = place_of(axis, input);
    std::vector<const Tensor*> parts;
    for (const Sample& sample : samples) parts.push_back(&sample[input]);
    joined.push_back(place ? join(parts, place->axis) : samples[0][input]);
  }
  return joined;
}

std::vector<Sample> single_samples(std::span<const Sample> samples, const DynamicAxis& axis) {
  std::vector<Sample> singles(samples.begin(), samples.end());
  for (std::vector<Tensor>& single : singles)
    for (std::size_t input = 0; input < single.size(); ++input)
      if (!place_of(axis, input)) single[input] = samples[0][input];
  return singles;
}

Tensor slice_axis(const Tensor& tensor, std::size_t axis, std::int64_t index, std::int64_t parts) {
  if (shares_bytes(tensor.dtype))
    return convert(slice_axis(in_bytes(tensor), axis, index, parts), tensor.dtype);
  Tensor slice{.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape};
  slice.shape[axis] /= parts;
  const auto [outer, bytes] = strides(tensor, axis);
  for (std::int64_t i = 0; i < outer; ++i) {
    const auto begin = tensor.bytes.begin() + i * bytes + index * (bytes / parts);
    slice.bytes.insert(slice.bytes.end(), begin, begin + bytes / parts);
  }
  return slice;
}

}  // namespace vernier
