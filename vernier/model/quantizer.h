#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "vernier/tensor/tensor.h"

namespace vernier {

enum class Granularity { per_tensor, per_channel, blockwise };
std::string_view granularity_name(Granularity granularity);

// How stored numbers stand for real ones: real = (stored - zero_point) * scale.
struct Quantizer {
  DType dtype = DType::u8;           // of what is stored
  Tensor scale;                      // one, one a channel, or one a block; f32, f16 or bf16
  std::optional<Tensor> zero_point;  // as many as scales; nothing: 0
  std::int64_t axis = 1;             // of channels or blocks; ONNX's default
  std::int64_t block_size = 0;       // 0: no blocks
  bool operator==(const Quantizer&) const = default;
};

Granularity granularity(const Quantizer& quantizer);

// Which scale belongs to an element: its position along the axis, in blocks, with the outer and
// inner positions beside it for blocks (scales then have the shape of the tensor, shortened).
class ScaleIndex {
 public:
  static bool fits(std::span<const std::int64_t> shape, const Quantizer& quantizer);
  // Throws Error unless the scales fit the shape.
  ScaleIndex(std::span<const std::int64_t> shape, const Quantizer& quantizer);
  std::int64_t operator()(std::int64_t element) const {
    if (length_ == 0) return 0;
    const std::int64_t along = element / inner_ % length_;
    if (block_ == 0) return along;
    const std::int64_t outer = element / (inner_ * length_);
    const std::int64_t blocks = (length_ + block_ - 1) / block_;
    return (outer * blocks + along / block_) * inner_ + element % inner_;
  }

 private:
  std::int64_t length_ = 0, inner_ = 1, block_ = 0;
};

// The real numbers, in float32 as a runtime computes them. Stored integers are widened before the
// zero point is taken off. Throws Error when scales do not fit the shape.
Tensor dequantize(const TensorView& stored, const Quantizer& quantizer);

// Real numbers put on the quantizer and taken off again: what a Q-DQ pair makes of them. Halves
// round to even; what is outside the quantizer goes to its end.
Tensor fake_quantize(const TensorView& real, const Quantizer& quantizer);

// The steps from the lowest to the highest stored number, of an integer type.
struct StoredRange {
  double low = 0;
  double high = 0;
};
StoredRange stored_range(DType dtype);

// The real numbers at the ends of a per-tensor quantizer.
struct RealRange {
  double low = 0;
  double high = 0;
  double step = 0;
  bool operator==(const RealRange&) const = default;
};
// Nothing for quantizers that are not per tensor, or of a float type.
std::optional<RealRange> representable_range(const Quantizer& quantizer);

}  // namespace vernier
