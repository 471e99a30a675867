#include "vernier/metrics/similarity.h"
#include "tests/metrics/special_values.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/metrics/pair.h"
#include "vernier/error.h"
#include "vernier/metrics/kernels.h"

namespace vernier {
namespace {

TEST(Similarity, hand_computed_values) {
  const Similarity result = similarity(f64({3, -4}), f64({3, -3.5}));
  EXPECT_EQ(result.count, 2);
  EXPECT_EQ(result.sqnr_db, 20);  // 25 over 0.25
  EXPECT_EQ(result.psnr_db, 10 * std::log10(16 / 0.125));
  EXPECT_EQ(result.cosine_similarity, 23 / (5 * std::sqrt(21.25)));
  EXPECT_EQ(result.mse, 0.125);
  EXPECT_EQ(result.max_abs_diff, 0.5);
  EXPECT_EQ(result.mean_abs_diff, 0.25);
  EXPECT_EQ(result.relative_l2, 0.1);
  EXPECT_EQ(result.max_abs_diff_index, 1);
  EXPECT_EQ(result.max_ulp_diff, std::nullopt);
  EXPECT_EQ(result.argmax_agreement, std::nullopt);
}

TEST(Similarity, identical_tensors_are_exact) {
  const Similarity result = similarity(f64({3, 4}), f64({3, 4}));
  EXPECT_EQ(result, (Similarity{.count = 2, .max_abs_diff_index = 0}));
}

TEST(Similarity, empty_tensors_are_identical) {
  EXPECT_EQ(similarity(f64({}), f64({})), Similarity{});
}

TEST(Similarity, two_zero_tensors_are_exact) {
  EXPECT_EQ(similarity(f64({0, 0}), f64({0, -0.0})),
            (Similarity{.count = 2, .max_abs_diff_index = 0}));
}

TEST(Similarity, noise_without_signal_is_minus_infinity) {
  const Similarity result = similarity(f64({0, 0}), f64({0, 2}));
  EXPECT_EQ(result.sqnr_db, -inf);
  EXPECT_EQ(result.psnr_db, -inf);
  EXPECT_EQ(result.cosine_similarity, 0);
  EXPECT_EQ(result.relative_l2, inf);
}

TEST(Similarity, a_zero_candidate_has_0_db_and_no_direction) {
  const Similarity result = similarity(f64({1, 2}), f64({0, 0}));
  EXPECT_EQ(result.sqnr_db, 0);
  EXPECT_EQ(result.cosine_similarity, 0);
  EXPECT_EQ(result.relative_l2, 1);
}

TEST(Similarity, nan_on_either_side_makes_every_metric_nan) {
  for (const Similarity& result :
       {similarity(f64({1, nan}), f64({1, 2})), similarity(f64({1, 2}), f64({1, nan})),
        similarity(f64({0, 0}), f64({0, nan})), similarity(f64({1, nan}), f64({1, nan}))})
    for (const Metric& metric : similarity_metrics)
      if (const auto value = metric.value(result)) {
        EXPECT_TRUE(std::isnan(*value)) << metric.name;
        EXPECT_FALSE(std::signbit(*value)) << metric.name << " must print as nan, not -nan";
      }
}

TEST(Similarity, an_infinite_candidate_is_all_noise) {
  const Similarity result = similarity(f64({1, 2}), f64({1, inf}));
  EXPECT_EQ(result.sqnr_db, -inf);
  EXPECT_EQ(result.psnr_db, -inf);
  EXPECT_EQ(result.max_abs_diff, inf);
  EXPECT_TRUE(std::isnan(result.cosine_similarity));
  EXPECT_EQ(result.candidate_inf, 1);
}

TEST(Similarity, another_pass_is_made_only_where_asked) {
  const Similarity result = similarity(f32({1, 2}), f32({1, 2}), {.ulp = true, .argmax = true});
  EXPECT_EQ(result.max_ulp_diff, 0);
  EXPECT_EQ(result.p999_ulp_diff, 0);
  EXPECT_EQ(result.argmax_agreement, 1);
}

TEST(Similarity, ulps_of_unlike_dtypes_have_no_meaning) {
  const Similarity result = similarity(f32({1}), f64({1}), {.ulp = true});
  EXPECT_EQ(result.max_ulp_diff, std::nullopt);
  EXPECT_EQ(result.p999_ulp_diff, std::nullopt);
}

TEST(Metrics, are_found_by_name) {
  for (std::size_t i = 0; i < similarity_metrics.size(); ++i)
    EXPECT_EQ(find_metric(similarity_metrics[i].name), i);
  EXPECT_EQ(find_metric("snr"), std::nullopt);
}

TEST(Metrics, the_worst_sample_is_a_nan_else_the_worse_end) {
  EXPECT_EQ(worst_sample({.min_sample = 3, .max_sample = 5}, Better::higher), 3);
  EXPECT_EQ(worst_sample({.min_sample = 3, .max_sample = 5}, Better::lower), 5);
  EXPECT_EQ(worst_sample({.min_sample = 3, .max_sample = 5, .nan_sample = 7}, Better::lower), 7);
  EXPECT_EQ(worst_sample({}, Better::lower), -1);
}

TEST(SimilarityAccumulator, summarises_each_metric_over_samples) {
  SimilarityAccumulator accumulator;
  accumulator.add(0, similarity(f64({1, 2}), f64({1, 4})));
  accumulator.add(1, similarity(f64({1, 2}), f64({1, 3})));
  accumulator.add(2, similarity(f64({1, 2}), f64({1, nan})));
  const SimilaritySummary summary = accumulator.result();
  const Statistics& difference = summary.statistics[*find_metric("max_abs_diff")];
  EXPECT_EQ(summary.samples, 3);
  EXPECT_EQ(summary.elements, 6);
  EXPECT_EQ(summary.candidate_nan, 1);
  EXPECT_EQ(difference.mean, 1.5);
  EXPECT_EQ(difference.max_sample, 0);
  EXPECT_EQ(worst_sample(difference, Better::lower), 2);
  EXPECT_EQ(summary.statistics[*find_metric("max_ulp_diff")], Statistics{});
}

TEST(SimilarityAccumulator, any_order_of_arrival_gives_the_same_bits) {
  SimilarityAccumulator ascending, descending;
  const auto sample = [](int index) {
    const Pair pair = random_pair(50, static_cast<unsigned>(index));
    return similarity(f64(pair.reference), f64(pair.candidate));
  };
  for (int i = 0; i < 40; ++i) ascending.add(i, sample(i));
  for (int i = 39; i >= 0; --i) descending.add(i, sample(i));
  EXPECT_EQ(descending.result(), ascending.result());
}

TEST(SqnrOfNoise, is_that_of_the_pair) {
  EXPECT_EQ(sqnr_db({.count = 2, .reference_squares = 100, .difference_squares = 1}), 20);
  EXPECT_EQ(sqnr_db({.count = 2, .reference_squares = 0, .difference_squares = 0}), INFINITY);
  EXPECT_EQ(sqnr_db({}), INFINITY);
}

TEST(ArgmaxAgreement, is_the_share_of_rows_whose_first_maximum_stays) {
  const Tensor reference = f32({1, 5, 5, 9, 0, 0, 1, 2, 3, 4, 4, 4}, {2, 2, 3});
  const Tensor candidate = f32({1, 6, 6, 8, 9, 0, 1, 2, 3, 4, 5, 4}, {2, 2, 3});
  EXPECT_EQ(argmax_agreement(reference, candidate), 0.5);
}

TEST(ArgmaxAgreement, a_row_with_nan_has_changed) {
  const auto nan32 = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(argmax_agreement(f32({1, nan32, 2, 1}, {2, 2}), f32({1, nan32, 2, 1}, {2, 2})), 0.5);
}

TEST(ArgmaxAgreement, has_no_meaning_without_rows_of_one_length) {
  EXPECT_EQ(argmax_agreement(f32({}, {0, 3}), f32({}, {0, 3})), std::nullopt);
  EXPECT_EQ(argmax_agreement(f32({1, 2}, {1, 2}), f32({1, 2}, {2, 1})), std::nullopt);
  const Tensor scalar = make_tensor("x", DType::f32, {});
  EXPECT_EQ(argmax_agreement(scalar, scalar), std::nullopt);
}

// Rows are read in blocks of 4,096 elements: shorter, longer, and not a divisor of it.
TEST(ArgmaxAgreement, rows_of_any_length_are_all_counted) {
  for (const std::int64_t width : {1, 3, 4096, 5000}) {
    const std::int64_t rows = 20000 / width + 1;
    std::vector<float> reference(static_cast<std::size_t>(rows * width)), candidate = reference;
    for (std::int64_t row = 0; row < rows; ++row) {
      reference[row * width + (row % width)] = 1;
      candidate[row * width + (row % 2 == 0 ? row % width : 0)] = 1;
    }
    const std::int64_t changed =
        std::count_if(reference.begin(), reference.end(), [&, i = std::int64_t{0}](float) mutable {
          const std::int64_t row = i / width, at = i++ % width;
          return at == 0 && row % 2 == 1 && row % width != 0;
        });
    EXPECT_EQ(argmax_agreement(f32(reference, {rows, width}), f32(candidate, {rows, width})),
              static_cast<double>(rows - changed) / static_cast<double>(rows));
  }
}

}  // namespace
}  // namespace vernier
