#include "vernier/analysis/compare/arithmetic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixture.h"
#include "tests/onnx_edits.h"
#include "vernier/data/npz_batches.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {
namespace {

std::vector<Tensor> digit(const Model& model) {
  return npz_batches(fixture("mnist/mnist_inputs.npz"), model.inputs()).samples->sample(0);
}

TEST(Arithmetic, the_first_operator_that_differs_is_named) {
  const Model model = Model::load(fixture("mnist/mnist_cnn.float.onnx"));
  Model other = model.clone();
  const std::string name = "/layer1/layer1.0/conv2/Conv";
  edit_weight(other, node(other, name).input(1), [](std::span<float> weight) { weight[0] += 1; });
  const auto found = first_inexact_operator(other, model, {}, digit(model));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->node, name);
  EXPECT_EQ(found->op, "Conv");
  EXPECT_GT(found->sqnr_db, -20);
  EXPECT_LT(found->sqnr_db, 100);
  EXPECT_FALSE(first_inexact_operator(model, model, {}, digit(model)));
}

// How much is lost depends on the CPU; that all of it is told does not.
TEST(Arithmetic, a_noticeable_loss_comes_with_its_remedy_and_its_operator) {
  const Model real = Model::load(fixture("mnist/mnist_cnn.float.onnx"));
  const Model quantized = Model::load(fixture("mnist/mnist_cnn.int8.onnx"));
  const std::vector<Tensor> inputs = digit(quantized);
  const ExactSample sample{inputs, OrtRunner(real.clone()).run(inputs),
                           OrtRunner(quantized.clone(), {.exact = true}).run(inputs)};
  const auto loss = measure_arithmetic_loss(quantized, {}, {sample});
  ASSERT_TRUE(loss);
  EXPECT_EQ(loss->output, "logits");
  EXPECT_GT(loss->exact_db, 20);
  EXPECT_EQ(loss->db() > noticeable_loss_db, loss->precise_db.has_value());
  EXPECT_EQ(loss->db() > noticeable_loss_db, loss->first_operator.has_value());
  if (!loss->precise_db) return;  // this CPU does not saturate
  EXPECT_GT(*loss->precise_db, loss->as_run_db + noticeable_loss_db);
  EXPECT_THAT(loss->first_operator->op, testing::StartsWith("Q"));
}

TEST(Arithmetic, exact_arithmetic_loses_nothing_that_could_be_measured) {
  const Model quantized = Model::load(fixture("mnist/mnist_cnn.int8.onnx"));
  EXPECT_FALSE(measure_arithmetic_loss(quantized, {.exact = true}, {}));
}

}  // namespace
}  // namespace vernier
