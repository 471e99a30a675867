#include "vernier/metrics/kernels.h"
#include "tests/metrics/special_values.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "tests/metrics/pair.h"
#include "vernier/error.h"

namespace vernier {
namespace {

// numpy 2.4's order of addition, spelled out: what measure() has to reproduce.
double pairwise(std::span<const double> terms) {
  const std::size_t count = terms.size();
  if (count > 128) {
    const std::size_t half = count / 2 / 8 * 8;
    return pairwise(terms.first(half)) + pairwise(terms.subspan(half));
  }
  const std::size_t strided = count / 8 * 8;
  double lanes[8] = {};
  for (std::size_t i = 0; i < strided; ++i) lanes[i % 8] += terms[i];
  double sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
               ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
  for (std::size_t i = strided; i < count; ++i) sum += terms[i];
  return sum;
}

// numpy adds to 0, so that no sum is -0.
double numpy_sum(std::span<const double> terms) { return 0 + pairwise(terms); }

template <typename Term>
double numpy_sum(const Pair& pair, Term term) {
  std::vector<double> terms;
  for (std::size_t i = 0; i < pair.reference.size(); ++i)
    terms.push_back(term(pair.reference[i], pair.candidate[i]));
  return numpy_sum(terms);
}

PairSums naive(const Pair& pair) {
  PairSums sums{.count = static_cast<std::int64_t>(pair.reference.size())};
  sums.reference_squares = numpy_sum(pair, [](double r, double) { return r * r; });
  sums.candidate_squares = numpy_sum(pair, [](double, double c) { return c * c; });
  sums.products = numpy_sum(pair, [](double r, double c) { return r * c; });
  sums.difference_squares = numpy_sum(pair, [](double r, double c) { return (r - c) * (r - c); });
  sums.abs_differences = numpy_sum(pair, [](double r, double c) { return std::abs(r - c); });
  for (std::int64_t i = 0; i < sums.count; ++i) {
    const double difference = std::abs(pair.reference[i] - pair.candidate[i]);
    sums.max_abs_reference = std::max(sums.max_abs_reference, std::abs(pair.reference[i]));
    if (i > 0 && difference <= sums.max_abs_difference) continue;
    sums.max_abs_difference = difference;
    sums.max_abs_difference_index = i;
  }
  return sums;
}

Pair widened(const Tensor& reference, const Tensor& candidate) {
  return {to_f64(reference), to_f64(candidate)};
}

// Every test here runs on every SIMD target this CPU has.
class Measure : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override { hwy::SetSupportedTargetsForTest(GetParam()); }
  void TearDown() override { hwy::SetSupportedTargetsForTest(0); }
};

INSTANTIATE_TEST_SUITE_P(Targets, Measure, testing::ValuesIn(hwy::SupportedAndGeneratedTargets()),
                         [](const auto& target) { return hwy::TargetName(target.param); });

constexpr std::size_t array_lengths[] = {0,    1,    2,     7,     8,     9,           31,    33,
                                         127,  128,  129,   1000,  4097,  8191,        8192,  8193,
                                         8199, 8200, 16384, 16385, 20000, 65536 + 200, 100003};

TEST_P(Measure, every_length_and_float_dtype_has_numpys_bits) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16})
    for (const std::size_t length : array_lengths) {
      const Pair pair = random_pair(length, static_cast<unsigned>(length));
      const Tensor reference = tensor_as(dtype, pair.reference);
      const Tensor candidate = tensor_as(dtype, pair.candidate);
      EXPECT_EQ(measure(reference, candidate), naive(widened(reference, candidate)))
          << dtype_name(dtype) << " of " << length;
    }
}

TEST_P(Measure, every_dtype_can_be_paired_with_every_other) {
  const Pair pair = random_pair(300, 1);
  for (int i = 0; i < dtype_count; ++i)
    for (int j = 0; j < dtype_count; ++j) {
      const Tensor reference = tensor_as(static_cast<DType>(i), pair.reference);
      const Tensor candidate = tensor_as(static_cast<DType>(j), pair.candidate);
      EXPECT_EQ(measure(reference, candidate), naive(widened(reference, candidate)))
          << dtype_name(reference.dtype) << " with " << dtype_name(candidate.dtype);
    }
}

NoiseSums noise_in(const PairSums& sums) {
  return {sums.count, sums.reference_squares, sums.difference_squares};
}

TEST_P(Measure, noise_alone_has_the_same_bits) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16})
    for (const std::size_t length : array_lengths) {
      const Pair pair = random_pair(length, static_cast<unsigned>(length));
      const Tensor reference = tensor_as(dtype, pair.reference);
      const Tensor candidate = tensor_as(dtype, pair.candidate);
      EXPECT_EQ(measure_noise(reference, candidate), noise_in(measure(reference, candidate)))
          << dtype_name(dtype) << " of " << length;
    }
}

TEST_P(Measure, noise_alone_passes_nan_and_infinity_on) {
  EXPECT_TRUE(std::isnan(measure_noise(f32({1, NAN}), f32({1, 2})).reference_squares));
  EXPECT_TRUE(std::isnan(measure_noise(f32({1, 2}), f32({1, NAN})).difference_squares));
  EXPECT_EQ(measure_noise(f32({1, 2}), f32({1, INFINITY})).difference_squares, INFINITY);
}

TEST_P(Measure, hand_computed_sums) {
  const PairSums sums = measure(f32({1, -2, 3}), f32({1, 2, 2.5}));
  EXPECT_EQ(sums, (PairSums{.count = 3,
                            .reference_squares = 14,
                            .candidate_squares = 11.25,
                            .products = 4.5,
                            .difference_squares = 16.25,
                            .abs_differences = 4.5,
                            .max_abs_reference = 3,
                            .max_abs_difference = 4,
                            .max_abs_difference_index = 1}));
}

TEST_P(Measure, an_empty_pair_has_no_index) { EXPECT_EQ(measure(f32({}), f32({})), PairSums{}); }

TEST_P(Measure, a_tensor_at_an_odd_address_is_read_as_any_other) {
  const Pair pair = random_pair(1003, 2);
  const Tensor reference = tensor_as(DType::f32, pair.reference);
  const Tensor candidate = tensor_as(DType::f32, pair.candidate);
  std::vector<std::byte> moved(reference.bytes.size() + 1);
  std::copy(reference.bytes.begin(), reference.bytes.end(), moved.begin() + 1);
  TensorView view = reference;
  view.bytes = std::span(moved).subspan(1);
  EXPECT_EQ(measure(view, candidate), measure(reference, candidate));
}

TEST_P(Measure, the_first_of_equal_differences_is_the_index) {
  for (const std::size_t length : {9u, 1000u, 20000u})
    for (const std::size_t at : {std::size_t{0}, length / 3, length - 2}) {
      std::vector<double> candidate(length);
      candidate[at] = candidate[length - 1] = -2;
      const PairSums sums = measure(f64(std::vector<double>(length)), f64(candidate));
      EXPECT_EQ(sums.max_abs_difference, 2);
      EXPECT_EQ(sums.max_abs_difference_index, static_cast<std::int64_t>(at));
    }
}

TEST_P(Measure, nan_and_infinity_are_counted_on_either_side) {
  for (const std::size_t length : {10u, 300u, 30000u}) {
    Pair pair = random_pair(length, 3);
    pair.reference[0] = nan;
    pair.reference[length / 2] = -inf;
    pair.candidate[1] = pair.candidate[length - 1] = nan;
    pair.candidate[2] = inf;
    const PairSums sums = measure(f64(pair.reference), f64(pair.candidate));
    EXPECT_EQ(sums.reference_nan, 1);
    EXPECT_EQ(sums.reference_inf, 1);
    EXPECT_EQ(sums.candidate_nan, 2);
    EXPECT_EQ(sums.candidate_inf, 1);
    EXPECT_TRUE(std::isnan(sums.reference_squares));
    EXPECT_TRUE(std::isnan(sums.max_abs_reference));
  }
}

TEST_P(Measure, the_first_nan_difference_is_the_maximum) {
  Pair pair = random_pair(20000, 4);
  pair.candidate[9000] = inf;
  pair.reference[9500] = pair.candidate[9500] = inf;  // inf - inf
  pair.candidate[9600] = nan;
  const PairSums sums = measure(f64(pair.reference), f64(pair.candidate));
  EXPECT_TRUE(std::isnan(sums.max_abs_difference));
  EXPECT_EQ(sums.max_abs_difference_index, 9500);
  EXPECT_EQ(sums.max_abs_reference, inf);
}

TEST_P(Measure, an_infinite_candidate_is_the_maximum_and_leaves_the_signal_finite) {
  Pair pair = random_pair(20000, 5);
  pair.candidate[12345] = -inf;
  const PairSums sums = measure(f64(pair.reference), f64(pair.candidate));
  EXPECT_EQ(sums.max_abs_difference, inf);
  EXPECT_EQ(sums.max_abs_difference_index, 12345);
  EXPECT_EQ(sums.reference_squares, naive(pair).reference_squares);
}

TEST_P(Measure, squares_that_overflow_are_not_counted_as_infinite_elements) {
  const PairSums sums = measure(f64({1e200, 2}), f64({-1e200, 2}));
  EXPECT_EQ(sums.reference_squares, inf);
  EXPECT_EQ(sums.reference_inf + sums.candidate_inf + sums.reference_nan + sums.candidate_nan, 0);
  EXPECT_EQ(sums.max_abs_difference, 2e200);
  EXPECT_EQ(sums.max_abs_reference, 1e200);
}

TEST(MeasureErrors, element_counts_that_differ_are_an_error_that_names_both_shapes) {
  try {
    measure(f32({1, 2, 3}), f32({1, 2}));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "[measure] 'x': reference has shape [3], candidate [2]; element counts must be "
                 "equal");
  }
}

TEST(MeasureErrors, noise_needs_equal_element_counts_too) {
  EXPECT_THROW(measure_noise(f32({1, 2}), f32({1})), Error);
}

TEST(MeasureErrors, shapes_may_differ) {
  EXPECT_EQ(measure(f32({1, 2}, {2}), f32({1, 2}, {1, 2})).difference_squares, 0);
}

TEST(Pool, two_parts_are_one_tensor) {
  const PairSums first = measure(f64({1, 2}), f64({1, 4}));
  const PairSums second = measure(f64({5, 0, 3}), f64({5, 3, 0}));
  EXPECT_EQ(pool(first, second), measure(f64({1, 2, 5, 0, 3}), f64({1, 4, 5, 3, 0})));
}

TEST(Pool, noise_is_pooled_as_all_sums_are) {
  const PairSums first = measure(f32({1, 2}), f32({1, 3})), second = measure(f32({4}), f32({2}));
  EXPECT_EQ(pool(noise_in(first), noise_in(second)), noise_in(pool(first, second)));
}

TEST(Pool, an_empty_part_changes_nothing) {
  const PairSums some = measure(f64({1, 2}), f64({1, 2}));
  EXPECT_EQ(pool(some, PairSums{}), some);
  EXPECT_EQ(pool(PairSums{}, some), some);
}

TEST(Pool, the_first_nan_is_the_maximum) {
  const PairSums finite = measure(f64({1}), f64({2}));
  const PairSums broken = measure(f64({1, 1}), f64({0, nan}));
  EXPECT_EQ(pool(finite, broken).max_abs_difference_index, 2);
  EXPECT_EQ(pool(broken, finite).max_abs_difference_index, 1);
  EXPECT_TRUE(std::isnan(pool(broken, finite).max_abs_difference));
  EXPECT_TRUE(std::isnan(pool(finite, broken).max_abs_difference));
  EXPECT_EQ(pool(broken, finite).candidate_nan, 1);
}

}  // namespace
}  // namespace vernier
