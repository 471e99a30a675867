#include "vernier/tensor/permute.h"
#include "tests/arrays.h"

#include <gtest/gtest.h>

namespace vernier {
namespace {

TEST(Permute, permuting_moves_every_element_to_its_place) {
  const Tensor transposed = permute_axes(ramp("x", {2, 3}, 1), std::vector{1, 0});
  EXPECT_EQ(transposed.shape, (Shape{3, 2}));
  const auto values = elements<float>(transposed.view());
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()),
            (std::vector<float>{1, 4, 2, 5, 3, 6}));
}

// UndefinedBehaviorSanitizer is the judge: on x86 a read at such an address succeeds.
TEST(Permute, elements_at_odd_addresses_are_permuted) {
  const Tensor aligned = ramp("x", {2, 3}, 1);
  std::vector<std::byte> bytes(aligned.bytes.size() + 1);
  std::ranges::copy(aligned.bytes, bytes.begin() + 1);
  const TensorView odd{aligned.name, aligned.dtype, aligned.shape, std::span(bytes).subspan(1)};
  EXPECT_EQ(permute_axes(odd, std::vector{1, 0}), permute_axes(aligned, std::vector{1, 0}));
}

TEST(Permute, four_bit_tensors_are_widened_to_permute) {
  Tensor packed = make_tensor("x", DType::u4, {2, 2});
  packed.bytes = {std::byte{0x21}, std::byte{0x43}};
  const Tensor transposed = permute_axes(packed, std::vector{1, 0});
  EXPECT_EQ(transposed.dtype, DType::u8);
  EXPECT_EQ(transposed.bytes,
            (std::vector{std::byte{1}, std::byte{3}, std::byte{2}, std::byte{4}}));
}

}  // namespace
}  // namespace vernier
