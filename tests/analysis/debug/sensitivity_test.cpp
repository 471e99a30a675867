#include "vernier/analysis/debug/sensitivity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/analysis/debug/debugging.h"
#include "tests/fixture.h"
#include "tests/onnx_edits.h"
#include "vernier/data/npz_batches.h"
#include "vernier/error.h"
#include "vernier/model/quantization.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {
namespace {

Sensitivity sensitivity_of(const Model& float_model, const Model& quantized, Samples& samples,
                           std::int64_t advice_samples = 16) {
  const DebugOptions options{.switches = true, .advice_samples = advice_samples};
  return debug(ModelIndex(float_model), ModelIndex(quantized), samples, options)
      .sensitivity.value();
}

std::unique_ptr<Samples> digits(const Model& model) {
  return npz_batches(fixture("mnist/mnist_inputs.npz"), model.inputs()).samples;
}

// Three nodes of this model gain 7 dB, where introduced error advised 2.4.
TEST(Sensitivity, advised_sets_gain_on_samples_they_were_not_chosen_on) {
  const Model real = Model::load(fixture("mnist/mnist_cnn.float.onnx"));
  const Model quantized = Model::load(fixture("mnist/mnist_cnn.int8.onnx"));
  const auto samples = digits(quantized);
  const Sensitivity result = sensitivity_of(real, quantized, *samples);
  EXPECT_EQ(result.samples, 16);
  EXPECT_EQ(result.held_out, 16);
  EXPECT_TRUE(result.unswitched.empty());
  ASSERT_GE(result.keep_in_float.size(), 2u);
  double before = 0;
  for (const FloatSet& set : result.keep_in_float) {
    EXPECT_GT(set.gain.gain_db.low, 0);
    EXPECT_GT(set.gain.after_db, before);
    before = set.gain.after_db;
    if (set.nodes.size() == 3) {
      EXPECT_GT(set.gain.after_db, 33.6);
    }
    if (set.nodes.size() == 8) {
      EXPECT_GT(set.gain.after_db, 37.9);
    }
  }
  for (const QuantizerRemedy& remedy : result.remedies) EXPECT_GT(remedy.gain.gain_db.low, 0);
  EXPECT_FALSE(result.remedies.empty());
}

TEST(Sensitivity, three_nodes_are_kept_unless_fewer_gain_almost_as_much) {
  const auto set = [](std::vector<std::string> nodes, double after_db) {
    return FloatSet{std::move(nodes), {.before_db = 20, .after_db = after_db}};
  };
  EXPECT_EQ(set_to_keep({}), nullptr);
  const auto size_kept = [&](double of_one, double of_two) {
    return set_to_keep({.keep_in_float = {set({"a"}, of_one), set({"a", "b"}, of_two),
                                          set({"a", "b", "c"}, 30), set({"a", "b", "c", "d"}, 40)}})
        ->nodes.size();
  };
  EXPECT_EQ(size_kept(28, 29.5), 3u);
  EXPECT_EQ(size_kept(29.5, 29.6), 1u);
  const Sensitivity small{.keep_in_float = {set({"a"}, 21), set({"a", "b"}, 25)}};
  EXPECT_EQ(set_to_keep(small), &small.keep_in_float[1]);
}

// The two nodes make more than half of the noise each, and neither gains anything alone.
TEST(Sensitivity, nodes_with_parallel_errors_are_a_chain_and_kept_in_float_together) {
  const Model real = Model::load(fixture("mnist/mnist_vit.float.onnx"));
  const Model quantized = Model::load(fixture("mnist/mnist_vit.int8.onnx"));
  const auto samples = digits(quantized);
  const Sensitivity result = sensitivity_of(real, quantized, *samples, 16);
  ASSERT_GE(result.nodes.size(), 2u);
  EXPECT_GT(result.nodes[0].chain, 0u);
  EXPECT_EQ(result.nodes[0].chain, result.nodes[1].chain);
  EXPECT_LT(result.nodes[0].gain_db.value(), 1);
  const auto three = std::ranges::find_if(
      result.keep_in_float, [](const FloatSet& set) { return set.nodes.size() == 3; });
  ASSERT_NE(three, result.keep_in_float.end());
  EXPECT_GT(three->gain.after_db - three->gain.before_db, 3);
  EXPECT_THAT(three->nodes, testing::Contains(result.nodes[0].node));
  EXPECT_THAT(three->nodes, testing::Contains(result.nodes[1].node));
}

TEST(Sensitivity, a_scale_that_is_50_times_too_large_is_named_first) {
  const Model real = Model::load(fixture("mnist/mnist_cnn.float.onnx"));
  const Model intact = Model::load(fixture("mnist/mnist_cnn.int8.onnx"));
  const Quantization quantization = find_quantization(ModelIndex(intact));
  for (const QuantizedActivation& activation : quantization.activations) {
    if (activation.writer_op != "Conv" && activation.writer_op != "Add") continue;
    Model broken = intact.clone();
    edit_weight(broken, activation.quantizer.scale.name,
                [](std::span<float> scale) { scale[0] *= 50; });
    const auto samples = digits(broken);
    const Sensitivity result = sensitivity_of(real, broken, *samples, 4);
    EXPECT_EQ(result.nodes[0].node, activation.writer) << activation.name;
    ASSERT_FALSE(result.keep_in_float.empty()) << activation.name;
    EXPECT_EQ(result.keep_in_float[0].nodes[0], activation.writer);
  }
}

std::int64_t answer(const Model& model, const std::vector<Tensor>& sample) {
  const Tensor logits = OrtRunner(model.clone(), {.exact = true}).run(sample)[0];
  return std::ranges::max_element(elements<float>(logits)) - elements<float>(logits).begin();
}

// The one quantizer that is wrong changes answers, and its node in float brings them back.
TEST(Sensitivity, a_changed_answer_is_explained_by_the_node_that_changed_it) {
  const Model real = Model::load(fixture("mnist/mnist_cnn.float.onnx"));
  Model broken = Model::load(fixture("mnist/mnist_cnn.int8.onnx"));
  const Quantization quantization = find_quantization(ModelIndex(broken));
  const auto wrong =
      std::ranges::find(quantization.activations, "Add", &QuantizedActivation::writer_op);
  ASSERT_NE(wrong, quantization.activations.end());
  edit_weight(broken, wrong->quantizer.scale.name, [](std::span<float> scale) { scale[0] /= 20; });
  const auto samples = digits(broken);
  const DebugOptions options{.switches = true, .advice_samples = 8, .explain_flips = true};
  const Sensitivity result =
      *debug(ModelIndex(real), ModelIndex(broken), *samples, options).sensitivity;
  ASSERT_FALSE(result.flips.empty());
  EXPECT_EQ(result.flips_looked_at, 8);
  EXPECT_EQ(result.flips_given, samples->size());
  EXPECT_EQ(result.flips_changed, std::ssize(result.flips));
  for (const Flip& flip : result.flips) {
    EXPECT_EQ(flip.output, "logits");
    EXPECT_NE(flip.real, flip.quantized);
    EXPECT_EQ(flip.real, answer(real, samples->sample(flip.sample)));
    EXPECT_EQ(flip.quantized, answer(broken, samples->sample(flip.sample)));
    EXPECT_THAT(flip.nodes, testing::ElementsAre(wrong->writer));
  }
}

// The same samples again and again.
class Repeated : public Samples {
 public:
  Repeated(std::unique_ptr<Samples> samples, std::int64_t size)
      : samples_(std::move(samples)), size_(size) {}
  std::int64_t size() const override { return size_; }
  std::vector<Tensor> sample(std::int64_t index) override {
    return samples_->sample(index % samples_->size());
  }

 private:
  std::unique_ptr<Samples> samples_;
  std::int64_t size_;
};

TEST(Sensitivity, of_many_samples_some_rank_the_nodes_and_all_choose_the_sets) {
  const Model real = Model::load(fixture("mnist/mnist_cnn.float.onnx"));
  const Model quantized = Model::load(fixture("mnist/mnist_cnn.int8.onnx"));
  Repeated many(digits(quantized), 280);
  const Sensitivity result = sensitivity_of(real, quantized, many, 140);
  EXPECT_EQ(result.ranked, 128);
  EXPECT_EQ(result.samples, 140);
  EXPECT_EQ(result.held_out, 140);
  ASSERT_FALSE(result.keep_in_float.empty());
  for (const FloatSet& set : result.keep_in_float) EXPECT_GT(set.gain.gain_db.low, 0);
}

TEST(Sensitivity, without_other_samples_nothing_is_advised) {
  const Model real = Model::load(fixture("mnist/mnist_cnn.float.onnx"));
  const Model quantized = Model::load(fixture("mnist/mnist_cnn.int8.onnx"));
  OneSample one(digits(quantized)->sample(0));
  const Sensitivity result = sensitivity_of(real, quantized, one);
  EXPECT_FALSE(result.nodes.empty());
  EXPECT_EQ(result.held_out, 0);
  EXPECT_TRUE(result.keep_in_float.empty());
  EXPECT_TRUE(result.remedies.empty());
}

}  // namespace
}  // namespace vernier
