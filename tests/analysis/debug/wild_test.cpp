// Real models that other people quantized, where the folder beside the repository has them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "tests/analysis/debug/debugging.h"
#include "tests/fixture.h"
#include "tests/shared_data.h"
#include "vernier/data/random.h"
#include "vernier/model/index.h"
#include "vernier/tensor/npz.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

// The first test images, (x / 255 - mean) / deviation.
class CifarSamples : public Samples {
 public:
  explicit CifarSamples(const std::array<float, 3>& deviations)
      : deviations_(deviations),
        images_(NpzReader(shared_data("wild/cifar/cifar10_test_512.npz")).read("image")) {}
  std::int64_t size() const override { return 4; }
  std::vector<Tensor> sample(std::int64_t index) override {
    constexpr std::array<float, 3> means = {0.4914F, 0.4822F, 0.4465F};
    Tensor image = make_tensor("input", DType::f32, {1, 3, 32, 32});
    const auto bytes = elements<std::uint8_t>(images_.view()).subspan(index * 3072, 3072);
    for (std::size_t i = 0; i < 3072; ++i)
      elements<float>(image)[i] =
          (static_cast<float>(bytes[i]) / 255 - means[i / 1024]) / deviations_[i / 1024];
    return {image};
  }

 private:
  std::array<float, 3> deviations_;
  Tensor images_;
};

// Of every tensor that has a counterpart.
double least_cumulative(const DebugResult& result) {
  double least = INFINITY;
  for (const DebugActivation& row : result.activations)
    if (row.cumulative_sqnr_db) least = std::min(least, *row.cumulative_sqnr_db);
  return least;
}

TEST(DebugWild, a_folded_relu6_leaves_every_tensor_of_a_q_operator_model_healthy) {
  if (!fs::exists(shared_data("wild/cifar")))
    GTEST_SKIP() << shared_data("wild/cifar") << " is not there";
  CifarSamples samples(std::array{0.2470F, 0.2435F, 0.2616F});
  const DebugResult result = debug(
      ModelIndex(Model::load(shared_data("wild/cifar/tinycnn.onnx"))),
      ModelIndex(Model::load(shared_data("wild/cifar/tinycnn_int8_qoperator.onnx"))), samples, {});
  ASSERT_EQ(result.activations.size(), 17u);
  for (const DebugActivation& row : result.activations)
    EXPECT_EQ(row.verdict, DamageVerdict::healthy) << row.tensor_name;
  EXPECT_NEAR(*result.activations[1].cumulative_sqnr_db, 38.5, 1);
  EXPECT_GT(*result.model_outputs.at(0).cumulative_sqnr_db, 25);
  EXPECT_TRUE(result.verdict.pass());
}

TEST(DebugWild, every_tensor_of_a_dynamic_model_is_aligned) {
  if (!fs::exists(shared_data("wild/cifar")))
    GTEST_SKIP() << shared_data("wild/cifar") << " is not there";
  CifarSamples samples(std::array{0.2023F, 0.1994F, 0.2010F});
  const DebugResult result = debug(
      ModelIndex(Model::load(shared_data("wild/cifar/resnet_fp32.onnx"))),
      ModelIndex(Model::load(shared_data("wild/cifar/resnet_int8_dynamic.onnx"))), samples, {});
  EXPECT_EQ(result.activations.size(), 71u);
  for (const DebugActivation& row : result.activations)
    EXPECT_TRUE(row.cumulative_sqnr_db) << row.tensor_name;
  EXPECT_EQ(result.weights.size(), 37u);
  EXPECT_GT(least_cumulative(result), 15);
}

TEST(DebugWild, another_network_of_the_same_shapes_fails_by_its_weights) {
  if (!fs::exists(shared_data("wild/steel")))
    GTEST_SKIP() << shared_data("wild/steel") << " is not there";
  const Model quantized = Model::load(shared_data("wild/steel/v2_int8_qoperator.onnx"));
  const auto samples = random_samples(quantized.inputs(), {.samples = 2});
  const auto verdict = [&](const char* reference) {
    return debug(ModelIndex(Model::load(shared_data(reference))), ModelIndex(quantized), *samples,
                 {})
        .verdict;
  };
  EXPECT_TRUE(verdict("wild/steel/v2_fp32.onnx").pass());
  const Verdict wrong = verdict("wild/steel/v1_fp32.onnx");
  EXPECT_EQ(wrong.outcome, Outcome::fail);
  EXPECT_EQ(wrong.failures.at(0).group, "weight");
}

TEST(DebugWild, a_language_model_in_four_bits_runs_with_its_cache) {
  if (!fs::exists(shared_data("lm"))) GTEST_SKIP() << shared_data("lm") << " is not there";
  const Model quantized = Model::load(shared_data("lm/model.int4.onnx"));
  const auto samples = random_samples(quantized.inputs(), {.samples = 1});
  const DebugResult result = debug(ModelIndex(Model::load(shared_data("lm/model.onnx"))),
                                   ModelIndex(quantized), *samples, {});
  EXPECT_EQ(result.weights.size(), 29u);
  for (const DebugWeight& row : result.weights)
    EXPECT_GT(*row.weight_sqnr_db, 18) << row.weight_name;
  EXPECT_TRUE(result.verdict.pass());
}

}  // namespace
}  // namespace vernier
