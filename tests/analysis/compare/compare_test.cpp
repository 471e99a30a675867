#include "vernier/analysis/compare/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/failure_texts.h"
#include "tests/temporary_directory.h"
#include "vernier/analysis/compare/compared_sample.h"
#include "vernier/analysis/parts/records.h"
#include "vernier/error.h"
#include "vernier/model/precision.h"
#include "vernier/report/warning.h"
#include "vernier/runtime/recorded_runner.h"
#include "vernier/tensor/npz.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();

Tensor make(const std::string& name, Shape shape, std::vector<float> values) {
  Tensor tensor = make_tensor(name, DType::f32, std::move(shape));
  std::ranges::copy(values, elements<float>(tensor).begin());
  return tensor;
}

// Samples of a model without inputs: recorded tensors on both sides need none.
class NoInputs : public Samples {
 public:
  explicit NoInputs(std::int64_t count) : count_(count) {}
  std::int64_t size() const override { return count_; }
  std::vector<Tensor> sample(std::int64_t /*index*/) override { return {}; }

 private:
  std::int64_t count_;
};

class Compare : public ::testing::Test {
 protected:
  RecordedRunner recorded(const std::vector<Tensor>& tensors) {
    const std::string path = folder / (std::to_string(files_++) + ".npz");
    NpzWriter writer(path);
    for (const Tensor& tensor : tensors) writer.add(tensor.name, tensor);
    writer.finish();
    return RecordedRunner(path);
  }

  CompareResult run(const std::vector<Tensor>& reference, const std::vector<Tensor>& candidate,
                    const CompareOptions& options = {}) {
    RecordedRunner reference_runner = recorded(reference), candidate_runner = recorded(candidate);
    NoInputs samples(reference_runner.size());
    return compare(reference_runner, candidate_runner, samples, options);
  }

  TemporaryDirectory folder;
  int files_ = 0;
};

TEST_F(Compare, every_output_gets_its_statistics_over_samples) {
  const CompareResult result =
      run({make("y", {2, 2}, {1, 2, 3, 4})}, {make("y", {2, 2}, {1, 2, 3, 5})});
  ASSERT_EQ(result.outputs.size(), 1u);
  EXPECT_EQ(result.samples, 2);
  const Statistics& max_abs_diff =
      result.outputs[0].similarity.statistics[*find_metric("max_abs_diff")];
  EXPECT_EQ(max_abs_diff.mean, 0.5);
  EXPECT_EQ(max_abs_diff.max_sample, 1);
  EXPECT_TRUE(result.verdict.pass());
}

// A part may be anybody's.
TEST_F(Compare, records_that_do_not_fit_the_models_are_refused) {
  const std::vector<Tensor> outputs = {make("y", {1, 2}, {1, 2})};
  const auto with_record = [&](const ComparedSample& sample) {
    SampleRecords records;
    records.keep(compare_section, 0, to_record(sample));
    return run(outputs, outputs, {.records = &records});
  };
  ComparedSample sample{.reference_outputs = without_bytes(outputs),
                        .candidate_outputs = without_bytes(outputs)};
  sample.sketches.resize(1);
  EXPECT_EQ(with_record(sample).samples, 1);
  sample.sketches.assign(5000, {TensorSketch{.elements = {1}, .size = 1}});
  EXPECT_THAT([&] { with_record(sample); },
              ::testing::ThrowsMessage<Error>(HasSubstr("a record is damaged")));
  sample.sketches.resize(1);
  sample.uses.resize(5000);
  EXPECT_THAT([&] { with_record(sample); },
              ::testing::ThrowsMessage<Error>(HasSubstr("a record is damaged")));
}

TEST_F(Compare, outputs_pair_by_name_in_reference_order_and_the_rest_is_listed) {
  const CompareResult result =
      run({make("a", {1, 1}, {1}), make("b", {1, 1}, {2}), make("c", {1, 1}, {3})},
          {make("c", {1, 1}, {3}), make("a", {1, 1}, {1}), make("d", {1, 1}, {4})});
  ASSERT_EQ(result.outputs.size(), 4u);
  EXPECT_EQ(result.outputs[0].name, "a");
  EXPECT_EQ(result.outputs[1].name, "c");
  EXPECT_EQ(result.outputs[2].status, PairStatus::only_in_reference);
  EXPECT_EQ(result.outputs[3].status, PairStatus::only_in_candidate);
}

TEST_F(Compare, an_output_that_only_the_reference_has_fails_unless_allowed) {
  const std::vector<Tensor> both = {make("a", {1, 1}, {1}), make("b", {1, 1}, {2})};
  const std::vector<Tensor> one = {make("a", {1, 1}, {1})};
  EXPECT_THAT(failure_texts(run(both, one).verdict),
              ElementsAre("output b: missing in the candidate"));
  EXPECT_TRUE(run(both, one, {.allow_missing = true}).verdict.pass());
  EXPECT_TRUE(run(one, both).verdict.pass());
}

TEST_F(Compare, a_limit_on_ulps_has_them_measured) {
  const auto limits =
      parse_limits(std::vector<std::string>{"max_ulp_diff>0"}, pair_limit_metrics());
  EXPECT_TRUE(
      run({make("y", {1, 1}, {1})}, {make("y", {1, 1}, {1})}, {.limits = limits}).verdict.pass());
  EXPECT_FALSE(run({make("y", {1, 1}, {1})}, {make("y", {1, 1}, {1.0000001F})}, {.limits = limits})
                   .verdict.pass());
}

// Decibels of ids mean nothing, where other outputs have some.
TEST_F(Compare, class_ids_are_judged_by_how_many_are_the_references) {
  const Tensor logits = make("logits", {2, 2}, {1, 2, 3, 4});
  const auto ids = [](std::vector<std::int64_t> values) {
    Tensor tensor = make_tensor("ids", DType::i64, {2, 2});
    std::ranges::copy(values, elements<std::int64_t>(tensor).begin());
    return tensor;
  };
  const auto compared = [&](const Evidence& evidence, std::vector<std::int64_t> found) {
    return run({logits, ids({7, 8, 9, 10})}, {logits, ids(std::move(found))},
               {.limits = default_limits(Precision::fp32), .evidence = evidence});
  };
  EXPECT_TRUE(compared({}, {7, 8, 9, 10}).verdict.pass());
  const CompareResult other = compared({}, {7, 8, 9, 11});
  EXPECT_EQ(*other.outputs[1].equal_share, 0.75);
  EXPECT_FALSE(other.outputs[0].equal_share);
  EXPECT_THAT(failure_texts(other.verdict),
              ElementsAre("output ids: 75.0 % of its numbers are the reference's (< 98 %)"));
  // Quantization may change close calls: that proves nothing, but is no pass either.
  const Evidence quantized{.real_inputs = true, .quantized = true};
  EXPECT_TRUE(compared(quantized, {7, 8, 9, 11}).verdict.pass());
  const Verdict doubtful = compared(quantized, {1, 2, 9, 11}).verdict;
  EXPECT_EQ(doubtful.outcome, Outcome::inconclusive);
  EXPECT_EQ(doubtful.doubts, (std::vector<Doubt>{{DoubtKind::other_ids, "ids", 0.25, 0.75}}));
}

TEST_F(Compare, class_ids_alone_are_judged_by_their_share) {
  const auto ids = [](std::vector<std::int64_t> values) {
    Tensor tensor = make_tensor("ids", DType::i64, {2, 2});
    std::ranges::copy(values, elements<std::int64_t>(tensor).begin());
    return tensor;
  };
  const auto compared = [&](const Evidence& evidence, std::vector<std::int64_t> found) {
    return run({ids({1, 90, 9, 10})}, {ids(std::move(found))},
               {.limits = default_limits(Precision::int8), .evidence = evidence, .ids = {"ids"}})
        .verdict;
  };
  const Evidence real{.real_inputs = true, .quantized = true}, made_up{.quantized = true};
  EXPECT_TRUE(compared(real, {1, 5, 9, 10}).pass());  // one of four, by any distance
  EXPECT_THAT(failure_texts(compared(real, {1, 90, 8, 11})),
              ElementsAre("output ids: 50.0 % of its numbers are the reference's (< 75 %)"));
  EXPECT_EQ(compared(made_up, {1, 90, 8, 11}).outcome, Outcome::inconclusive);
  // Nothing is no equal id.
  const Tensor none = make_tensor("ids", DType::i64, {0});
  EXPECT_FALSE(run({none}, {none},
                   {.limits = default_limits(Precision::int8), .evidence = real, .ids = {"ids"}})
                   .verdict.pass());
}

TEST_F(Compare, no_sample_is_no_pass) {
  RecordedRunner one = recorded({make("y", {1, 1}, {1})});
  NoInputs none(0);
  EXPECT_THAT(failure_texts(compare(one, one, none, {}).verdict), ElementsAre("samples 0 < 1"));
}

TEST_F(Compare, no_shared_output_is_an_error_with_both_lists) {
  try {
    run({make("a", {1, 1}, {1})}, {make("b", {1, 1}, {1}), make("c", {1, 1}, {1})});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("the reference has a, the candidate b, c"));
  }
}

TEST_F(Compare, as_many_outputs_of_other_names_pair_by_position_with_a_warning) {
  const CompareResult result = run({make("a", {1, 1}, {1})}, {make("b", {1, 1}, {1})});
  ASSERT_EQ(result.outputs.size(), 1u);
  EXPECT_EQ(result.outputs[0].name, "b");
  EXPECT_THAT(warning_texts(result.warnings),
              ElementsAre(HasSubstr("'b' is paired with the reference's 'a'")));
}

TEST_F(Compare, outputs_of_other_names_and_shapes_have_to_be_mapped) {
  const std::vector<Tensor> row = {make("a", {1, 2, 3}, {1, 2, 3, 4, 5, 6})};
  const std::vector<Tensor> column = {make("b", {1, 3, 2}, {1, 4, 2, 5, 3, 6})};
  EXPECT_THROW(run(row, column), Error);
  const CompareResult result = run(row, column, {.io = {.outputs = {{"a", "b"}}}});
  EXPECT_THAT(failure_texts(result.verdict), ElementsAre(HasSubstr("permutation (1,0)")));
  EXPECT_THAT(warning_texts(result.warnings), IsEmpty());
}

TEST_F(Compare, mapped_outputs_have_the_candidates_name) {
  const CompareResult result = run({make("a", {1, 1}, {1}), make("b", {1, 1}, {2})},
                                   {make("b", {1, 1}, {1}), make("a", {1, 1}, {2})},
                                   {.io = {.outputs = {{"a", "b"}, {"b", "a"}}}});
  EXPECT_TRUE(result.verdict.pass());
  EXPECT_EQ(result.outputs[0].name, "b");
  EXPECT_EQ(result.outputs[0].similarity.statistics[*find_metric("max_abs_diff")].max, 0);
}

TEST_F(Compare, rows_of_a_recording_are_outputs_without_their_batch_axis) {
  const CompareResult result =
      run({make("y", {2, 3}, {1, 2, 3, 4, 5, 6})}, {make("y", {2, 1, 3}, {1, 2, 3, 4, 5, 6})});
  EXPECT_EQ(result.samples, 2);
  EXPECT_EQ(result.outputs[0].status, PairStatus::compared);
  EXPECT_EQ(result.outputs[0].layout, "squeeze [3] to [1,3]");
  EXPECT_TRUE(result.verdict.pass());
}

TEST_F(Compare, outputs_without_names_pair_by_position) {
  const CompareResult result = run({make("output_0", {1, 1}, {1})}, {make("logits", {1, 1}, {1})},
                                   {.outputs_by_position = true});
  EXPECT_EQ(result.outputs[0].name, "logits");
}

TEST_F(Compare, a_shape_mismatch_fails_that_output_and_names_the_layout) {
  const CompareResult result =
      run({make("y", {1, 2, 3}, {1, 2, 3, 4, 5, 6})}, {make("y", {1, 3, 2}, {1, 4, 2, 5, 3, 6})});
  EXPECT_FALSE(result.verdict.pass());
  EXPECT_THAT(failure_texts(result.verdict), ElementsAre(HasSubstr("permutation (1,0)")));
}

TEST_F(Compare, limits_are_judged_per_output) {
  const auto limits =
      parse_limits(std::vector<std::string>{"y:max_abs_diff>0.5"}, pair_limit_metrics());
  EXPECT_FALSE(
      run({make("y", {1, 1}, {1})}, {make("y", {1, 1}, {2})}, {.limits = limits}).verdict.pass());
  EXPECT_THROW(run({make("z", {1, 1}, {1})}, {make("z", {1, 1}, {2})}, {.limits = limits}), Error);
}

TEST_F(Compare, nan_that_only_the_candidate_has_is_traced_to_the_first_tensor) {
  CompareOptions options;
  options.watch_candidate = [&]() -> std::unique_ptr<Runner> {
    return std::make_unique<RecordedRunner>(recorded(
        {make("early", {1, 1}, {1}), make("middle", {1, 1}, {nan}), make("y", {1, 1}, {nan})}));
  };
  const CompareResult result = run({make("y", {1, 1}, {1})}, {make("y", {1, 1}, {nan})}, options);
  EXPECT_FALSE(result.verdict.pass());
  ASSERT_TRUE(result.nan_origin);
  EXPECT_EQ(*result.nan_origin, (NanOrigin{0, "middle"}));
}

TEST_F(Compare, nan_on_both_sides_fails_without_an_origin) {
  const CompareResult result = run({make("y", {1, 1}, {nan})}, {make("y", {1, 1}, {nan})});
  EXPECT_FALSE(result.verdict.pass());
  EXPECT_FALSE(result.nan_origin);
}

TEST_F(Compare, an_interrupt_keeps_the_samples_so_far) {
  CompareOptions options;
  options.progress = [](std::int64_t done, std::int64_t) { return done < 2; };
  const CompareResult result =
      run({make("y", {3, 1}, {1, 2, 3})}, {make("y", {3, 1}, {1, 2, 3})}, options);
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.samples, 2);
}

}  // namespace
}  // namespace vernier
