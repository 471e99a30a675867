#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "vernier/tensor/tensor.h"

namespace vernier {

enum class Granularity { per_tensor, per_channel, blockwise };
std::string_view granularity_name(Granularity granularity);

// How a model holds a quantized weight.
enum class WeightForm { dequantized, fake_quantized, q_operator, integer_operator, n_bits };

// real = (stored - zero_point) * scale.
struct Quantizer {
  DType dtype = DType::u8;           // of the stored numbers
  Tensor scale;                      // one, one per channel, or one per block; f32, f16 or bf16
  std::optional<Tensor> zero_point;  // one, or as many as scales; nullopt stands for 0
  std::int64_t axis = 1;             // of channels or blocks; 1 is ONNX's default
  std::int64_t block_size = 0;       // 0 if there are no blocks
  bool operator==(const Quantizer&) const = default;
};

Granularity granularity(const Quantizer& quantizer);

// Maps the flat index of an element to the index of its scale: 0 per tensor, the position along the
// axis per channel. Blockwise scales have the tensor's shape with the axis divided by block_size.
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

// The real numbers in float32, computed as a runtime does. Stored integers are widened before the
// zero point is subtracted. Throws Error if the scales do not fit the shape.
Tensor dequantize(const TensorView& stored, const Quantizer& quantizer);

// Quantizes and dequantizes, as a Q-DQ pair does. Rounds half to even; values outside the
// calibration range saturate. Throws Error if the scales do not fit the shape.
Tensor fake_quantize(const TensorView& real, const Quantizer& quantizer);

// The lowest and the highest stored number of an integer type.
struct StoredRange {
  double low = 0;
  double high = 0;
};
StoredRange stored_range(DType dtype);

// The calibration range of a per-tensor quantizer; `step` is its scale.
struct RealRange {
  double low = 0;
  double high = 0;
  double step = 0;
  bool operator==(const RealRange&) const = default;
};
// nullopt for quantizers that are not per tensor, or of a float type.
std::optional<RealRange> representable_range(const Quantizer& quantizer);

}  // namespace vernier
