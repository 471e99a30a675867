#include "vernier/analysis/evidence/narrow_range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/compare_pair.h"
#include "tests/model_builder.h"
#include "vernier/analysis/compare/compare_models.h"
#include "vernier/model/index.h"
#include "vernier/model/precision.h"
#include "vernier/report/warning.h"

namespace vernier {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class GivenSamples : public Samples {
 public:
  explicit GivenSamples(std::vector<std::vector<Tensor>> samples) : samples_(std::move(samples)) {}
  std::int64_t size() const override { return std::ssize(samples_); }
  std::vector<Tensor> sample(std::int64_t index) override { return samples_[index]; }

 private:
  std::vector<std::vector<Tensor>> samples_;
};

// Adds a quantizer of codes -128 to 127 between two tensors.
void quantize(GraphBuilder& builder, const std::string& from, const std::string& to, float step) {
  builder.weight(tensor_of<float>(to + "_scale", DType::f32, {}, {step}))
      .weight(tensor_of<std::int8_t>(to + "_zero", DType::i8, {}, {0}))
      .node("QuantizeLinear", {from, to + "_scale", to + "_zero"}, {to + "_stored"})
      .node("DequantizeLinear", {to + "_stored", to + "_scale", to + "_zero"}, {to});
}

constexpr std::int64_t length = 64;

// y = -(-x), with these ranges: of the input, and of the tensor behind it. None: in float.
Model negated_twice(std::optional<float> input_range, float inner_range) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{length}});
  if (input_range) quantize(builder, "x", "x_real", *input_range / 127);
  builder.node("Neg", {input_range ? "x_real" : "x"}, {"n"});
  if (input_range) quantize(builder, "n", "n_real", inner_range / 127);
  builder.node("Neg", {input_range ? "n_real" : "n"}, {"y"}).output("y");
  return builder.model();
}

// Ramps from -largest to largest, as inputs are drawn in the range of the input's own quantizer.
GivenSamples ramps(float largest) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < length; ++i)
    values.push_back(largest * (2 * static_cast<float>(i) / (length - 1) - 1));
  const Tensor up = tensor_of("x", DType::f32, {length}, values);
  std::ranges::reverse(values);
  return GivenSamples({{up}, {tensor_of("x", DType::f32, {length}, values)}});
}

std::optional<NarrowRange> narrow_input(const Model& reference, const Model& candidate,
                                        Samples& samples) {
  return find_narrow_input(ModelIndex(reference), ModelIndex(candidate), samples, {});
}

TEST(NarrowRange, an_input_is_too_narrow_where_all_behind_it_is_wider) {
  const Model reference = negated_twice(std::nullopt, 0);
  GivenSamples narrow = ramps(0.25F), full = ramps(1);
  EXPECT_EQ(narrow_input(reference, negated_twice(0.25F, 1), narrow),
            (NarrowRange{.tensor = "x", .overflow = 4}));
  EXPECT_EQ(narrow_input(reference, negated_twice(0.25F, 0.4F), narrow),
            (NarrowRange{.tensor = "x", .overflow = 2}));
  EXPECT_EQ(narrow_input(reference, negated_twice(1, 1), full), std::nullopt);
}

// Behind the other input, which comes first by name, is no quantizer.
TEST(NarrowRange, of_several_inputs_the_narrow_one_is_named) {
  const auto with_another = [](Model model, bool quantized) {
    GraphBuilder builder;
    builder.graph() = model.graph();
    builder.input("a", DType::f32, {{length}});
    if (quantized) quantize(builder, "a", "a_real", 1.0F / 127);
    return builder.node("Neg", {quantized ? "a_real" : "a"}, {"b"}).output("b").model();
  };
  std::vector<std::vector<Tensor>> inputs;
  for (std::int64_t i = 0; i < 2; ++i) {
    inputs.push_back(ramps(0.25F).sample(i));
    inputs.back().push_back(ramps(1).sample(i)[0]);
    inputs.back().back().name = "a";
  }
  GivenSamples samples(std::move(inputs));
  EXPECT_EQ(narrow_input(with_another(negated_twice(std::nullopt, 0), false),
                         with_another(negated_twice(0.25F, 1), true), samples),
            (NarrowRange{.tensor = "x", .overflow = 4}));
}

CompareResult compare_small(const Model& reference, const Model& candidate, Samples& samples,
                            bool real) {
  CompareModelsOptions options;
  options.compare.limits = default_limits(Precision::int8);
  options.compare.evidence.real_inputs = real;
  return compare_models(reference, candidate, samples, options);
}

// Made-up inputs never exceed the input's range: without the range behind it the model would pass.
TEST(NarrowRange, a_narrow_input_is_a_doubt_of_made_up_inputs) {
  const Model reference = negated_twice(std::nullopt, 0);
  GivenSamples narrow = ramps(0.25F), full = ramps(1);
  const Verdict wrong =
      compare_small(reference, negated_twice(0.25F, 0.32F), narrow, false).verdict;
  EXPECT_TRUE(wrong.pass());  // nothing tells
  const Verdict doubtful = compare_small(reference, negated_twice(0.25F, 1), narrow, false).verdict;
  EXPECT_EQ(doubtful.outcome, Outcome::inconclusive);
  EXPECT_TRUE(compare_small(reference, negated_twice(1, 1), full, false).verdict.pass());
}

// x through one quantizer with this range, and z through five that it fits.
Model six_quantizers(std::optional<float> range) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1000}}).input("z", DType::f32, {{1}});
  builder.node("Neg", {"x"}, {"n"});
  if (range) quantize(builder, "n", "n_real", *range / 127);
  builder.node("Neg", {range ? "n_real" : "n"}, {"y"}).output("y");
  std::string last = "z";
  for (int i = 0; i < 5; ++i) {
    const std::string negated = "z" + std::to_string(i), real = negated + "_real";
    builder.node("Neg", {last}, {negated});
    if (range) quantize(builder, negated, real, 1.0F / 127);
    last = range ? real : negated;
  }
  builder.node("Neg", {last}, {"w"}).output("w");
  return builder.model();
}

// Ones of either sign, and one element that is larger.
GivenSamples with_outlier(float outlier) {
  std::vector<std::vector<Tensor>> samples;
  for (const float sign : {1.0F, -1.0F}) {
    std::vector<float> values(1000, sign);
    values[7] = sign * outlier;
    samples.push_back({tensor_of("x", DType::f32, {1000}, values),
                       tensor_of<float>("z", DType::f32, {1}, {sign})});
  }
  return GivenSamples(std::move(samples));
}

TEST(NarrowRange, one_that_costs_is_a_doubt_of_real_inputs_that_keep_the_limits) {
  const Model reference = six_quantizers(std::nullopt), narrow = six_quantizers(1.0F);
  GivenSamples spiked = with_outlier(4), even = with_outlier(1);
  const CompareResult costly = compare_small(reference, narrow, spiked, true);
  EXPECT_THAT(costly.verdict.failures, IsEmpty());
  EXPECT_EQ(costly.verdict.outcome, Outcome::inconclusive);
  ASSERT_TRUE(costly.evidence.narrow && costly.evidence.narrow->gain_db);
  EXPECT_EQ(costly.evidence.narrow->tensor, "n");
  EXPECT_NEAR(costly.evidence.narrow->overflow, 4.0, 1e-5);  // at the upper end
  EXPECT_GT(*costly.evidence.narrow->gain_db, 10);
  EXPECT_TRUE(compare_small(reference, narrow, even, true).verdict.pass());
  EXPECT_TRUE(compare_small(reference, six_quantizers(4.0F), spiked, true).verdict.pass());
}

// 5 codes of 127 are left, and the limits are kept.
TEST(NarrowRange, one_that_is_far_too_wide_is_a_doubt_too) {
  GivenSamples even = with_outlier(1);
  const CompareResult wide =
      compare_small(six_quantizers(std::nullopt), six_quantizers(24.0F), even, true);
  EXPECT_THAT(wide.verdict.failures, IsEmpty());
  EXPECT_EQ(wide.verdict.outcome, Outcome::inconclusive);
  ASSERT_TRUE(wide.evidence.narrow && wide.evidence.narrow->gain_db);
  EXPECT_EQ(wide.evidence.narrow->tensor, "n");
  EXPECT_NEAR(wide.evidence.narrow->overflow, 1.0 / 24, 1e-3);
  EXPECT_GT(*wide.evidence.narrow->gain_db, 10);
  EXPECT_THAT(wide.verdict.doubts,
              Contains(::testing::Field(&Doubt::kind, DoubtKind::costly_range)));
}

// Samples of these sizes, all of one value.
GivenSamples constants(const std::vector<float>& values) {
  std::vector<std::vector<Tensor>> samples;
  for (const float value : values)
    samples.push_back({tensor_of("x", DType::f32, {length}, std::vector<float>(length, value))});
  return GivenSamples(std::move(samples));
}

class WithOthers : public GivenSamples {
 public:
  WithOthers(const GivenSamples& samples, GivenSamples others)
      : GivenSamples(samples), others_(std::move(others)) {}
  Samples* others() override { return &others_; }

 private:
  GivenSamples others_;
};

// In steps of 1/127 a signal of 0.012 is told to 10 dB: the samples that are loud hide it.
TEST(OtherInputs, a_pass_that_others_would_not_be_given_is_inconclusive) {
  const Model reference = negated_twice(std::nullopt, 0), candidate = negated_twice(1, 1);
  WithOthers loud(constants({1, -1, 0.5F}), constants({0.012F, -0.012F}));
  const CompareResult result = compare_small(reference, candidate, loud, false);
  EXPECT_EQ(result.verdict.outcome, Outcome::inconclusive);
  ASSERT_EQ(result.verdict.doubts.size(), 1u);
  EXPECT_EQ(result.verdict.doubts[0].kind, DoubtKind::other_inputs);
  EXPECT_EQ(result.verdict.doubts[0].subject, "y");
  EXPECT_LT(result.verdict.doubts[0].value, 15);
  EXPECT_EQ(result.verdict.doubts[0].limit, 15);
  EXPECT_TRUE(compare_small(reference, candidate, loud, true).verdict.pass());  // these are real
}

TEST(OtherInputs, are_not_asked_for_limits_of_the_user) {
  const Model reference = negated_twice(std::nullopt, 0), candidate = negated_twice(1, 1);
  WithOthers loud(constants({1, -1, 0.5F}), constants({0.012F, -0.012F}));
  CompareModelsOptions options;
  options.compare.limits = default_limits(Precision::int8);
  options.compare.evidence.own_limits = true;
  EXPECT_TRUE(compare_models(reference, candidate, loud, options).verdict.pass());
}

TEST(OtherInputs, that_keep_the_limits_leave_a_pass_as_it_is) {
  const Model reference = negated_twice(std::nullopt, 0), candidate = negated_twice(1, 1);
  WithOthers loud(constants({1, -1, 0.5F}), constants({0.3F, -0.4F}));
  EXPECT_TRUE(compare_small(reference, candidate, loud, false).verdict.pass());
}

// A step of 1/127: what is smaller than half of it becomes zero.
TEST(QuietSample, one_that_is_almost_nothing_does_not_fail_by_itself_and_is_told) {
  const Model reference = negated_twice(std::nullopt, 0), candidate = negated_twice(1, 1);
  GivenSamples quiet = constants({1, -1, 0.5F, 0.003F});
  const CompareResult result = compare_small(reference, candidate, quiet, true);
  EXPECT_TRUE(result.verdict.pass());
  EXPECT_THAT(warning_texts(result.warnings),
              Contains(HasSubstr("its signal is far below the other samples'")));
}

TEST(QuietSample, one_whose_noise_is_large_beside_the_others_fails) {
  const Model reference = negated_twice(std::nullopt, 0), candidate = negated_twice(1, 0.5F);
  GivenSamples loud = constants({0.5F, -0.5F, 0.25F, 0.4F, 0.3F, -0.3F, 1});
  const CompareResult result = compare_small(reference, candidate, loud, true);
  EXPECT_EQ(result.verdict.outcome, Outcome::fail);
}

// Twelve samples within 0.8; of the first ones two elements are twice as large.
GivenSamples with_loud(int loud) {
  std::vector<std::vector<Tensor>> samples;
  for (int i = 0; i < 12; ++i) {
    std::vector<float> values;
    for (std::int64_t j = 0; j < length; ++j)
      values.push_back(0.8F * (2 * static_cast<float>((j * 7 + i) % length) / (length - 1) - 1));
    if (i < loud) values[5] = values[20] = 1.6F;
    samples.push_back({tensor_of("x", DType::f32, {length}, values)});
  }
  return GivenSamples(std::move(samples));
}

// One sample that is louder than all of the calibration data makes most of the noise, and is no
// wrong range.
TEST(NarrowRange, a_single_loud_sample_is_no_doubt_of_the_range) {
  const Model reference = negated_twice(std::nullopt, 0), candidate = negated_twice(2, 1);
  GivenSamples one = with_loud(1), some = with_loud(3);
  EXPECT_TRUE(compare_small(reference, candidate, one, true).verdict.pass());
  const CompareResult result = compare_small(reference, candidate, some, true);
  EXPECT_FALSE(result.verdict.pass());
  EXPECT_TRUE(result.evidence.narrow);
}

}  // namespace
}  // namespace vernier
