#include "vernier/tensor/small_float.h"
#include "vernier/tensor/convert.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <ostream>
#include <vector>

#include "tests/oracle/numpy.h"
#include "tests/temporary_directory.h"
#include "tests/tensor/tensors.h"
#include "vernier/tensor/npy.h"

namespace vernier {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
const float not_a_number = std::nanf("");

// A format as its definition has it; magnitudes are patterns without the sign bit.
struct Format {
  DType dtype;
  int mantissa_bits;
  int bias;
  int largest;       // magnitude of the largest finite value
  int infinity = 0;  // 0: the format has none
  int sign_bit = 0x80;
  bool has_negative_zero = true;
};
void PrintTo(const Format& format, std::ostream* out) { *out << dtype_name(format.dtype); }

const Format formats[] = {
    {DType::f16, 10, 15, 0x7bff, 0x7c00, 0x8000},
    {DType::bf16, 7, 127, 0x7f7f, 0x7f80, 0x8000},
    {DType::f8e4m3fn, 3, 7, 0x7e},
    {.dtype = DType::f8e4m3fnuz,
     .mantissa_bits = 3,
     .bias = 8,
     .largest = 0x7f,
     .has_negative_zero = false},
    {DType::f8e5m2, 2, 15, 0x7b, 0x7c},
    {.dtype = DType::f8e5m2fnuz,
     .mantissa_bits = 2,
     .bias = 16,
     .largest = 0x7f,
     .has_negative_zero = false},
};

// One beyond the largest gives the value that would come next.
long double value_of(const Format& format, int magnitude) {
  const int exponent = magnitude >> format.mantissa_bits;
  const int fraction = magnitude & ((1 << format.mantissa_bits) - 1);
  const int significand = exponent == 0 ? fraction : fraction + (1 << format.mantissa_bits);
  return std::ldexp(static_cast<long double>(significand),
                    std::max(exponent, 1) - format.bias - format.mantissa_bits);
}

// The magnitude nearest to a non-negative value, even on a tie; largest + 1 is overflow.
int nearest_magnitude(const Format& format, long double value) {
  int low = 0, high = format.largest + 1;
  if (value >= value_of(format, high)) return high;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (value_of(format, middle) <= value ? low : high) = middle;
  }
  const long double below = value - value_of(format, low), above = value_of(format, high) - value;
  return below < above || (below == above && low % 2 == 0) ? low : high;
}

float f8_to_f32(DType dtype, std::uint8_t bits) {
  const auto byte = std::byte{bits};
  return to_f32({.dtype = dtype, .shape = {}, .bytes = {&byte, 1}})[0];
}

std::uint8_t f32_to_f8(DType dtype, float value) {
  const Tensor narrow = convert(tensor_of<float>("", DType::f32, {}, std::array{value}), dtype);
  return std::to_integer<std::uint8_t>(narrow.bytes[0]);
}

float widened(const Format& format, int bits) {
  if (format.dtype == DType::f16) return f16_to_f32(static_cast<std::uint16_t>(bits));
  if (format.dtype == DType::bf16) return bf16_to_f32(static_cast<std::uint16_t>(bits));
  return f8_to_f32(format.dtype, static_cast<std::uint8_t>(bits));
}

int narrowed(const Format& format, float value) {
  if (format.dtype == DType::f16) return f32_to_f16(value);
  if (format.dtype == DType::bf16) return f32_to_bf16(value);
  return f32_to_f8(format.dtype, value);
}

bool is_nan_pattern(const Format& format, int bits) {
  const int magnitude = bits & (format.sign_bit - 1);
  if (!format.has_negative_zero) return bits == format.sign_bit;
  return magnitude > std::max(format.largest, format.infinity);
}

// What a value must become; -1 for any NaN.
int expected_pattern(const Format& format, long double value) {
  if (std::isnan(value)) return -1;
  const int magnitude = nearest_magnitude(format, std::abs(value));
  const int sign = std::signbit(value) ? format.sign_bit : 0;
  if (magnitude > format.largest) return format.infinity ? sign | format.infinity : -1;
  if (magnitude == 0 && !format.has_negative_zero) return 0;
  return sign | magnitude;
}

// Every value of the format that is finite and not negative, the midpoints between them, and the
// neighbours of both in float64.
std::vector<double> hard_cases(const Format& format) {
  std::vector<double> cases;
  for (int magnitude = 0; magnitude <= format.largest; ++magnitude) {
    const auto value = static_cast<double>(value_of(format, magnitude));
    const double middle = (value + static_cast<double>(value_of(format, magnitude + 1))) / 2;
    for (const double center : {value, middle})
      for (const double near :
           {std::nextafter(center, 0.0), center, std::nextafter(center, INFINITY)})
        cases.insert(cases.end(), {near, -near});
  }
  for (const double special : {1e300, 1e-300, 5e-324, double{infinity}, double{not_a_number}})
    cases.insert(cases.end(), {special, -special});
  return cases;
}

int pattern_at(const Tensor& tensor, std::size_t index) {
  return bits(tensor.dtype) == 16 ? elements<std::uint16_t>(tensor.view())[index]
                                  : elements<std::uint8_t>(tensor.view())[index];
}

void expect_pattern(const Format& format, int found, long double value) {
  const int expected = expected_pattern(format, value);
  if (expected < 0)
    EXPECT_TRUE(is_nan_pattern(format, found)) << static_cast<double>(value) << " gave " << found;
  else
    EXPECT_EQ(found, expected) << static_cast<double>(value);
}

class EverySmallFloat : public testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(Formats, EverySmallFloat, testing::ValuesIn(formats),
                         [](const auto& test) {
                           return std::string(dtype_name(test.param.dtype));
                         });

TEST_P(EverySmallFloat, every_pattern_widens_to_its_value) {
  const Format& format = GetParam();
  for (int bits = 0; bits < 2 * format.sign_bit; ++bits) {
    const int magnitude = bits & (format.sign_bit - 1);
    const float found = widened(format, bits);
    if (is_nan_pattern(format, bits)) {
      EXPECT_TRUE(std::isnan(found)) << bits;
      continue;
    }
    const bool is_infinite = format.infinity != 0 && magnitude == format.infinity;
    const auto size = is_infinite ? infinity : static_cast<float>(value_of(format, magnitude));
    EXPECT_EQ(found, bits & format.sign_bit ? -size : size) << bits;
    EXPECT_EQ(std::signbit(found), (bits & format.sign_bit) != 0) << bits;
  }
}

TEST_P(EverySmallFloat, every_pattern_survives_the_way_to_f32_and_back) {
  const Format& format = GetParam();
  for (int bits = 0; bits < 2 * format.sign_bit; ++bits) {
    const int found = narrowed(format, widened(format, bits));
    if (is_nan_pattern(format, bits))
      EXPECT_TRUE(is_nan_pattern(format, found)) << bits;
    else
      EXPECT_EQ(found, bits);
  }
}

TEST_P(EverySmallFloat, f32_rounds_to_nearest_even_around_every_value_and_tie) {
  for (const double value : hard_cases(GetParam())) {
    const auto nearby = static_cast<float>(value);
    for (const float near :
         {std::nextafter(nearby, -infinity), nearby, std::nextafter(nearby, infinity)})
      expect_pattern(GetParam(), narrowed(GetParam(), near), near);
  }
}

TEST_P(EverySmallFloat, f32_rounds_to_nearest_even_all_over_its_range) {
  for (std::uint64_t bits = 0; bits < 1ull << 32; bits += 40013) {
    const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    expect_pattern(GetParam(), narrowed(GetParam(), value), value);
  }
}

TEST_P(EverySmallFloat, f64_rounds_only_once) {
  const std::vector<double> cases = hard_cases(GetParam());
  const Tensor found = convert(tensor_of(DType::f64, cases), GetParam().dtype);
  for (std::size_t i = 0; i < cases.size(); ++i)
    expect_pattern(GetParam(), pattern_at(found, i), cases[i]);
}

TEST_P(EverySmallFloat, i64_and_u64_round_only_once) {
  std::vector<std::uint64_t> cases;
  for (int shift = 0; shift < 55; ++shift)
    for (std::uint64_t significand = 0; significand < 512; ++significand)
      for (const std::uint64_t offset : {-1, 0, 1})
        cases.push_back((significand << shift) + offset);
  Tensor integers = tensor_of(DType::u64, cases);
  const Tensor from_unsigned = convert(integers, GetParam().dtype);
  integers.dtype = DType::i64;
  const Tensor from_signed = convert(integers, GetParam().dtype);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    expect_pattern(GetParam(), pattern_at(from_unsigned, i), cases[i]);
    expect_pattern(GetParam(), pattern_at(from_signed, i), static_cast<std::int64_t>(cases[i]));
  }
}

TEST(SmallFloat, the_limits_of_each_f8_are_as_published) {
  EXPECT_EQ(f8_to_f32(DType::f8e4m3fn, 0x7e), 448);
  EXPECT_EQ(f8_to_f32(DType::f8e4m3fn, 0x01), 0x1p-9f);
  EXPECT_EQ(f8_to_f32(DType::f8e4m3fnuz, 0x7f), 240);
  EXPECT_EQ(f8_to_f32(DType::f8e4m3fnuz, 0x01), 0x1p-10f);
  EXPECT_EQ(f8_to_f32(DType::f8e5m2, 0x7b), 57344);
  EXPECT_EQ(f8_to_f32(DType::f8e5m2, 0x01), 0x1p-16f);
  EXPECT_EQ(f8_to_f32(DType::f8e5m2fnuz, 0x7f), 57344);
  EXPECT_EQ(f8_to_f32(DType::f8e5m2fnuz, 0x01), 0x1p-17f);
}

TEST(SmallFloat, overflow_is_infinity_where_there_is_one_and_else_nan) {
  EXPECT_EQ(f32_to_f8(DType::f8e4m3fn, 464), 0x7e);  // the tie goes to the even 448
  EXPECT_EQ(f32_to_f8(DType::f8e4m3fn, 465), 0x7f);
  EXPECT_EQ(f32_to_f8(DType::f8e4m3fn, -infinity), 0xff);
  EXPECT_EQ(f32_to_f8(DType::f8e4m3fnuz, 248), 0x80);
  EXPECT_EQ(f32_to_f8(DType::f8e4m3fnuz, infinity), 0x80);
  EXPECT_EQ(f32_to_f8(DType::f8e5m2, 61440), 0x7c);
  EXPECT_EQ(f32_to_f8(DType::f8e5m2, -infinity), 0xfc);
  EXPECT_EQ(f32_to_f8(DType::f8e5m2fnuz, infinity), 0x80);
  EXPECT_EQ(f32_to_f16(65519.996f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520), 0x7c00);
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
}

TEST(SmallFloat, the_fnuz_formats_have_one_zero) {
  for (const DType dtype : {DType::f8e4m3fnuz, DType::f8e5m2fnuz}) {
    EXPECT_EQ(f32_to_f8(dtype, -0.0f), 0);
    EXPECT_EQ(f32_to_f8(dtype, -1e-30f), 0);
  }
  EXPECT_EQ(f32_to_f8(DType::f8e4m3fn, -0.0f), 0x80);
}

// NaN compares by being NaN: numpy's payload depends on the CPU.
void expect_same_f16(const std::vector<std::byte>& expected, const Tensor& found) {
  ASSERT_EQ(expected.size(), found.bytes.size());
  const auto* patterns = reinterpret_cast<const std::uint16_t*>(expected.data());
  for (std::int64_t i = 0; i < found.size(); ++i) {
    const int pattern = pattern_at(found, i);
    const bool both_nan = (patterns[i] & 0x7fff) > 0x7c00 && (pattern & 0x7fff) > 0x7c00;
    EXPECT_TRUE(both_nan || patterns[i] == pattern) << "element " << i;
  }
}

TEST(SmallFloat, narrowing_to_f16_is_numpys) {
  const auto python = oracle::python_with("numpy");
  if (!python) GTEST_SKIP() << "no Python with numpy 2.4";
  const TemporaryDirectory directory;
  const Tensor wide = tensor_of(DType::f64, hard_cases(formats[0]));
  Tensor floats = make_tensor("x", DType::f32, {(1ll << 32) / 4099});
  for (std::int64_t i = 0; i < floats.size(); ++i)
    elements<std::uint32_t>(floats)[i] = static_cast<std::uint32_t>(i * 4099);
  write_npy(directory / "f64.npy", wide);
  write_npy(directory / "f32.npy", floats);
  const std::string load = "np.load('" + directory.path().string();
  const auto expected = oracle::numpy_bytes(
      *python, {load + "/f64.npy').astype(np.float16)", load + "/f32.npy').astype(np.float16)"});
  expect_same_f16(expected[0], convert(wide, DType::f16));
  expect_same_f16(expected[1], convert(floats, DType::f16));
}

TEST(SmallFloat, widening_from_f16_is_numpys) {
  const auto python = oracle::python_with("numpy");
  if (!python) GTEST_SKIP() << "no Python with numpy 2.4";
  const auto expected = oracle::numpy_bytes(
      *python, {"np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float32)"});
  const auto* values = reinterpret_cast<const float*>(expected[0].data());
  for (int bits = 0; bits < 65536; ++bits) {
    const float found = f16_to_f32(static_cast<std::uint16_t>(bits));
    EXPECT_TRUE(std::bit_cast<std::uint32_t>(values[bits]) == std::bit_cast<std::uint32_t>(found) ||
                (std::isnan(values[bits]) && std::isnan(found)))
        << bits;
  }
}

}  // namespace
}  // namespace vernier
