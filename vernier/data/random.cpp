#include "vernier/data/random.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <cstring>

#include "vernier/data/input_shape.h"
#include "vernier/data/numpy_random.h"
#include "vernier/error.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// The range [low, high) of an integer type.
DrawRange limits(DType dtype) {
  if (dtype == DType::boolean) return {0, 2};
  const int value_bits = bits(dtype) - (is_signed(dtype) ? 1 : 0);
  return {is_signed(dtype) ? -std::ldexp(1.0, value_bits) : 0.0, std::ldexp(1.0, value_bits)};
}

std::string format_range(const DrawRange& range) {
  return fmt::format("{}:{}", range.low, range.high);
}

void require_integer_range(const TensorSpec& input, const DrawRange& range) {
  constexpr double exact = 9007199254740992;  // 2^53: beyond it a double skips integers
  const DrawRange most = limits(input.dtype);
  const bool whole = std::trunc(range.low) == range.low && std::trunc(range.high) == range.high;
  const bool fits = range.low >= std::max(most.low, -exact) &&
                    range.high <= std::min(most.high, exact) && range.low < range.high;
  if (!whole || !fits)
    throw Error(fmt::format(
        "[inputs] '{}': range {} is not one of {}, low below high and high excluded; "
        "pass --input-range {}=low:high within {}",
        input.name, format_range(range), dtype_name(input.dtype), input.name, format_range(most)));
}

bool is_finite_as(DType dtype, double value) {
  const auto single = static_cast<float>(value);
  const auto* bytes = reinterpret_cast<const std::byte*>(&single);
  const Tensor converted = convert(
      TensorView{.dtype = DType::f32, .shape = {}, .bytes = {bytes, sizeof(single)}}, dtype);
  return std::isfinite(to_f32(converted)[0]);
}

void require_float_range(const TensorSpec& input, const DrawRange& range) {
  if (!(range.low <= range.high) || !is_finite_as(input.dtype, range.low) ||
      !is_finite_as(input.dtype, range.high) || !is_finite_as(DType::f32, range.high - range.low))
    throw Error(fmt::format(
        "[inputs] '{}': range {} is not one of {}, low up to high and both finite; pass another "
        "--input-range {}=low:high",
        input.name, format_range(range), dtype_name(input.dtype), input.name));
}

DrawRange default_range(const TensorSpec& input, const RandomOptions& options) {
  if (is_float(input.dtype)) return {0, 1};
  const auto length = options.index_lengths.find(input.name);
  if (length == options.index_lengths.end() || length->second < 1) return {0, 2};
  return {0, std::min(static_cast<double>(length->second), limits(input.dtype).high)};
}

DrawRange range_of(const TensorSpec& input, const RandomOptions& options) {
  const auto given = options.ranges.find(input.name);
  if (given == options.ranges.end()) return default_range(input, options);
  if (!is_float(input.dtype)) {
    require_integer_range(input, given->second);
  } else {
    if (options.distribution == Distribution::normal)
      throw Error(fmt::format(
          "[inputs] '{}': a normal distribution has no range; leave out --input-range {}=... or "
          "--inputs normal",
          input.name, input.name));
    require_float_range(input, given->second);
  }
  return given->second;
}

template <typename T>
Tensor from_values(const InputDraw& input, DType dtype, const std::vector<T>& values) {
  return tensor_of<T>(input.name, dtype, input.shape, values);
}

Tensor draw_floats(const InputDraw& input, NumpyRandom& random) {
  const std::int64_t count = element_count(input.shape);
  if (input.distribution == Distribution::normal)
    return from_values(input, DType::f32, random.standard_normal<float>(count));
  std::vector<float> values = random.random<float>(count);
  const auto scale = static_cast<float>(input.range.high - input.range.low);
  const auto offset = static_cast<float>(input.range.low);
  for (float& value : values) value = value * scale + offset;
  return from_values(input, DType::f32, values);
}

template <typename T>
Tensor draw_integers(const InputDraw& input, DType dtype, NumpyRandom& random) {
  const auto low = static_cast<T>(input.range.low);
  const auto last = static_cast<T>(input.range.high - 1);
  return from_values(input, dtype, random.integers<T>(low, last, element_count(input.shape)));
}

Tensor draw_booleans(const InputDraw& input, NumpyRandom& random) {
  const std::int64_t count = element_count(input.shape);
  const bool both = input.range == DrawRange{0, 2};
  return from_values(
      input, DType::boolean,
      both ? random.booleans(count)
           : std::vector<std::uint8_t>(count, static_cast<std::uint8_t>(input.range.low)));
}

// The dtype in which numpy draws, before conversion to the input's dtype.
DType drawn_dtype(DType dtype) {
  if (is_float(dtype)) return DType::f32;
  if (bits(dtype) == 4) return is_signed(dtype) ? DType::i8 : DType::u8;
  return dtype;
}

Tensor draw_as(DType dtype, const InputDraw& input, NumpyRandom& random) {
  switch (dtype) {
    case DType::f32: return draw_floats(input, random);
    case DType::i64: return draw_integers<std::int64_t>(input, dtype, random);
    case DType::i32: return draw_integers<std::int32_t>(input, dtype, random);
    case DType::i16: return draw_integers<std::int16_t>(input, dtype, random);
    case DType::i8: return draw_integers<std::int8_t>(input, dtype, random);
    case DType::u64: return draw_integers<std::uint64_t>(input, dtype, random);
    case DType::u32: return draw_integers<std::uint32_t>(input, dtype, random);
    case DType::u16: return draw_integers<std::uint16_t>(input, dtype, random);
    case DType::u8: return draw_integers<std::uint8_t>(input, dtype, random);
    default: return draw_booleans(input, random);
  }
}

class RandomSamples : public Samples {
 public:
  RandomSamples(std::vector<InputDraw> draws, const RandomOptions& options)
      : draws_(std::move(draws)), count_(options.samples), seed_(options.seed) {}

  std::int64_t size() const override { return count_; }
  std::vector<Tensor> sample(std::int64_t index) override {
    std::vector<Tensor> tensors;
    for (std::size_t i = 0; i < draws_.size(); ++i)
      tensors.push_back(draw(draws_[i], {seed_, index, static_cast<std::int64_t>(i)}));
    return tensors;
  }

 private:
  std::vector<InputDraw> draws_;
  std::int64_t count_;
  std::uint64_t seed_;
};

}  // namespace

std::vector<InputDraw> plan_draws(std::span<const TensorSpec> inputs,
                                  const RandomOptions& options) {
  const std::vector<Shape> shapes = resolve_shapes(inputs, options.shapes);
  for (const auto& [name, range] : options.ranges) require_input(inputs, name, "--input-range");
  std::vector<InputDraw> draws;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    draws.push_back(
        {.name = inputs[i].name,
         .dtype = inputs[i].dtype,
         .shape = shapes[i],
         .range = range_of(inputs[i], options),
         .distribution = is_float(inputs[i].dtype) ? options.distribution : Distribution::uniform});
  return draws;
}

Tensor draw(const InputDraw& input, const DrawKey& key) {
  const std::array<std::uint64_t, 3> entropy = {key.seed, static_cast<std::uint64_t>(key.sample),
                                                static_cast<std::uint64_t>(key.input)};
  NumpyRandom random(entropy);
  const DType drawn = drawn_dtype(input.dtype);
  Tensor tensor = draw_as(drawn, input, random);
  return drawn == input.dtype ? tensor : convert(tensor, input.dtype);
}

std::unique_ptr<Samples> random_samples(std::span<const TensorSpec> inputs,
                                        const RandomOptions& options) {
  return std::make_unique<RandomSamples>(plan_draws(inputs, options), options);
}

}  // namespace vernier
