#include "vernier/tensor/convert.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/oracle/numpy.h"
#include "tests/temporary_directory.h"
#include "tests/tensor/tensors.h"
#include "vernier/error.h"
#include "vernier/tensor/npy.h"

namespace vernier {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(Convert, every_dtype_widens_to_the_same_values_in_f32_and_f64) {
  for (int i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    const Tensor tensor = convert(tensor_of<float>(DType::f32, {0, 1, 1, 0}), dtype);
    EXPECT_THAT(to_f32(tensor), ElementsAre(0, 1, 1, 0)) << dtype_name(dtype);
    EXPECT_THAT(to_f64(tensor), ElementsAre(0, 1, 1, 0)) << dtype_name(dtype);
  }
}

TEST(Convert, widening_starts_at_any_element) {
  for (int i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    const Tensor tensor = convert(tensor_of<float>(DType::f32, {1, 0, 0, 1, 1, 0, 1}), dtype);
    const std::vector<double> all = to_f64(tensor);
    for (std::size_t begin = 0; begin <= all.size(); ++begin)
      for (std::size_t end = begin; end <= all.size(); ++end) {
        std::vector<double> part(end - begin);
        widen(tensor, static_cast<std::int64_t>(begin), part);
        EXPECT_TRUE(std::equal(part.begin(), part.end(), all.begin() + begin)) << dtype_name(dtype);
      }
  }
}

TEST(Convert, elements_may_sit_at_any_address) {
  const std::vector<double> values = {1.5, -2.25, 1e300};
  for (std::size_t shift = 0; shift < 8; ++shift) {
    std::vector<std::byte> storage(64);
    std::memcpy(storage.data() + shift, values.data(), 24);
    const Shape shape = {3};
    const TensorView view = {"x", DType::f64, shape, std::span(storage).subspan(shift, 24)};
    EXPECT_EQ(to_f64(view), values);
  }
}

TEST(Convert, four_bit_elements_are_read_low_nibble_first) {
  Tensor tensor = make_tensor("x", DType::i4, {3});
  tensor.bytes = {std::byte{0xf7}, std::byte{0x08}};
  EXPECT_THAT(to_f32(tensor), ElementsAre(7, -1, -8));
  tensor.dtype = DType::u4;
  EXPECT_THAT(to_f64(tensor), ElementsAre(7, 15, 8));
}

TEST(Convert, four_bit_elements_are_written_low_nibble_first) {
  const Tensor values = tensor_of<std::int32_t>(DType::i32, {7, -1, -8});
  EXPECT_THAT(convert(values, DType::i4).bytes, ElementsAre(std::byte{0xf7}, std::byte{0x08}));
}

TEST(Convert, every_four_bit_value_survives_the_way_to_i8_and_back) {
  for (const auto& [dtype, first] : {std::pair{DType::i4, -8}, std::pair{DType::u4, 0}}) {
    const Tensor values = counting("x", DType::i8, {16}, first);
    EXPECT_EQ(convert(convert(values, dtype), DType::i8), values);
  }
}

TEST(Convert, integers_beyond_2_to_the_53_round_to_nearest_even) {
  const std::int64_t limit = std::int64_t{1} << 53;
  EXPECT_THAT(to_f64(tensor_of<std::int64_t>(DType::i64, {limit + 1, limit + 3, -limit - 1})),
              ElementsAre(0x1p53, 0x1p53 + 4, -0x1p53));
  EXPECT_THAT(to_f64(tensor_of<std::uint64_t>(DType::u64, {~std::uint64_t{0}})),
              ElementsAre(0x1p64));
  EXPECT_THAT(to_f32(tensor_of<std::int32_t>(DType::i32, {(1 << 24) + 1, (1 << 24) + 3})),
              ElementsAre(0x1p24f, 0x1p24f + 4));
}

TEST(Convert, float_to_integer_truncates_and_saturates) {
  const Tensor wide =
      tensor_of<float>(DType::f32, {1.9f, -1.9f, 300, -300, infinity, -infinity, std::nanf("")});
  EXPECT_THAT(to_f32(convert(wide, DType::i8)), ElementsAre(1, -1, 127, -128, 127, -128, 0));
  EXPECT_THAT(to_f32(convert(wide, DType::u8)), ElementsAre(1, 0, 255, 0, 255, 0, 0));
  EXPECT_THAT(to_f32(convert(wide, DType::i4)), ElementsAre(1, -1, 7, -8, 7, -8, 0));
  EXPECT_THAT(to_f32(convert(wide, DType::u4)), ElementsAre(1, 0, 15, 0, 15, 0, 0));
}

TEST(Convert, the_largest_integers_saturate_exactly) {
  const Tensor wide = tensor_of<double>(DType::f64, {0x1p63, -0x1p63, 0x1p64, 0x1p63 - 1024});
  const auto largest = std::numeric_limits<std::int64_t>::max();
  EXPECT_THAT(elements<std::int64_t>(convert(wide, DType::i64).view()),
              ElementsAre(largest, -largest - 1, largest, largest - 1023));
  EXPECT_THAT(elements<std::uint64_t>(convert(wide, DType::u64).view()),
              ElementsAre(1ull << 63, 0, ~0ull, (1ull << 63) - 1024));
}

TEST(Convert, integer_to_integer_wraps) {
  const Tensor wide = tensor_of<std::int64_t>(DType::i64, {300, -1, 1LL << 40, 24});
  EXPECT_THAT(to_f32(convert(wide, DType::u8)), ElementsAre(44, 255, 0, 24));
  EXPECT_THAT(to_f32(convert(wide, DType::i4)), ElementsAre(-4, -1, 0, -8));
}

TEST(Convert, anything_but_zero_is_true) {
  const Tensor wide = tensor_of<float>(DType::f32, {0, -0.0f, 0.1f, std::nanf("")});
  EXPECT_THAT(to_f32(convert(wide, DType::boolean)), ElementsAre(0, 0, 1, 1));
  const Tensor odd = tensor_of<std::uint8_t>(DType::boolean, {0, 1, 2});
  EXPECT_THAT(to_f32(odd), ElementsAre(0, 1, 1));
}

TEST(Convert, tensors_longer_than_a_buffer_are_converted_whole) {
  for (const std::int64_t size : {0, 1, 2047, 2048, 2049, 10001}) {
    Tensor values = make_tensor("x", DType::f32, {size});
    for (std::int64_t i = 0; i < size; ++i) elements<float>(values)[i] = static_cast<float>(i % 7);
    for (const DType dtype : {DType::f64, DType::f16, DType::i4, DType::i64, DType::u64})
      EXPECT_EQ(convert(convert(values, dtype), DType::f32), values) << size << dtype_name(dtype);
  }
}

TEST(Convert, name_and_shape_are_kept) {
  const Tensor tensor = convert(counting("weight", DType::f32, {2, 3}), DType::f16);
  EXPECT_EQ(tensor.name, "weight");
  EXPECT_EQ(tensor.shape, (Shape{2, 3}));
}

// The values that every pair of dtypes agrees about, and where both are integers or both floats,
// the extremes too.
Tensor source(DType dtype) {
  const Tensor small = convert(tensor_of<float>(DType::f32, {0, 1, 2, 63, 100, 127}), dtype);
  if (!is_integer(dtype)) return small;
  Tensor all =
      convert(tensor_of<std::uint64_t>(DType::u64, {0, 1, ~0ull, ~0ull / 2, 1ull << 63, 129, 65535,
                                                    1ull << 31, 1ull << 53, 0x80}),
              dtype);
  all.bytes.insert(all.bytes.end(), small.bytes.begin(), small.bytes.end());
  all.shape[0] += small.shape[0];
  return all;
}

TEST(Convert, every_pair_of_numpys_dtypes_converts_as_astype_does) {
  const auto python = oracle::python_with("numpy");
  if (!python) GTEST_SKIP() << "no Python with numpy 2.4";
  const TemporaryDirectory directory;
  std::vector<std::string> expressions;
  std::vector<Tensor> found;
  for (int from = 0; from < dtype_count; ++from)
    for (int to = 0; to < dtype_count; ++to) {
      const auto source_dtype = static_cast<DType>(from), dtype = static_cast<DType>(to);
      if (npy_dtype(source_dtype) != source_dtype || npy_dtype(dtype) != dtype) continue;
      const auto path = directory / fmt::format("{}.npy", dtype_name(source_dtype));
      write_npy(path, source(source_dtype));
      expressions.push_back(
          fmt::format("np.load('{}').astype('{}')", path.string(), dtype_name(dtype)));
      found.push_back(convert(source(source_dtype), dtype));
    }
  const auto expected = oracle::numpy_bytes(*python, expressions);
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(found[i].bytes, expected[i]) << expressions[i];
}

TEST(ConvertErrors, a_range_outside_the_tensor_is_named) {
  const Tensor tensor = tensor_of<float>(DType::f32, {1, 2, 3});
  std::vector<double> out(2);
  for (const std::int64_t begin : {2, -1, 4})
    EXPECT_THAT([&] { widen(tensor, begin, out); },
                ThrowsMessage<Error>(HasSubstr(fmt::format(
                    "[tensor] 'x': elements {} to {} asked for, found 3", begin, begin + 2))));
}

TEST(ConvertErrors, a_byte_count_that_contradicts_the_shape_is_named) {
  Tensor tensor = tensor_of<float>(DType::f32, {1, 2, 3});
  tensor.shape = {4};
  const auto contradicts =
      ThrowsMessage<Error>(HasSubstr("[tensor] 'x': float32 [4] takes 16 bytes, found 12"));
  EXPECT_THAT([&] { to_f32(tensor); }, contradicts);
  EXPECT_THAT([&] { to_f64(tensor); }, contradicts);
  EXPECT_THAT([&] { convert(tensor, DType::f32); }, contradicts);
  EXPECT_THAT([&] { widen(tensor, 0, std::span<float>{}); }, contradicts);
}

}  // namespace
}  // namespace vernier
