#include "vernier/analysis/pick_inputs.h"

#include <gtest/gtest.h>

#include "tests/fixture.h"
#include "tests/model_builder.h"

namespace vernier {
namespace {

std::vector<Tensor> first_sample(const Model& model, const InputSpec& spec = {}) {
  return automatic_inputs(model, nullptr, spec, {}).samples->sample(0);
}

Model waveform(Dim length) {
  GraphBuilder builder;
  builder.input("sound", DType::f32, {{-1, "batch"}, {1}, std::move(length)});
  builder.weight(tensor_of<float>("w", DType::f32, {2, 1, 4}, std::vector<float>(8, 0.5F)));
  builder.node("Conv", {"sound", "w"}, {"y"}).output("y");
  return builder.model();
}

TEST(AutomaticInputs, a_waveform_of_any_length_is_a_frame) {
  EXPECT_EQ(first_sample(waveform({-1, "time"}))[0].shape, (Shape{1, 1, 512}));
  EXPECT_EQ(first_sample(waveform({100}))[0].shape, (Shape{1, 1, 100}));
}

TEST(AutomaticInputs, a_shape_that_was_given_is_kept) {
  EXPECT_EQ(first_sample(waveform({-1, "time"}), {.shapes = {{"sound", {2, 1, 64}}}})[0].shape,
            (Shape{2, 1, 64}));
}

TEST(AutomaticInputs, the_same_seed_gives_the_same_bytes) {
  const Model model = Model::load(fixture("mnist/mnist_cnn.int8.onnx"));
  EXPECT_EQ(first_sample(model), first_sample(model));
  EXPECT_NE(first_sample(model), first_sample(model, {.seed = 7}));
}

TEST(AutomaticInputs, there_are_as_many_as_were_asked_for) {
  const Model model = Model::load(fixture("mnist/mnist_cnn.int8.onnx"));
  EXPECT_EQ(automatic_inputs(model, nullptr, {.samples = 150}, {}).samples->size(), 150);
}

TEST(AutomaticInputs, a_constant_is_the_same_in_every_sample_and_in_those_that_are_bred) {
  const Model model = Model::load(fixture("mnist/mnist_cnn.int8.onnx"));
  const std::vector<TensorSpec> inputs = model.inputs();
  const IoMapping io{.constants = {{inputs[0].name, {0.25}}}, .steps = 2};
  const Inputs made =
      automatic_inputs({.inputs = inputs, .onnx = &model, .io = io}, nullptr, {.samples = 3}, {});
  EXPECT_EQ(made.samples->size(), 6);
  for (std::int64_t i = 0; i < made.samples->size(); ++i) {
    const std::vector<Tensor> sample = made.samples->sample(i);
    for (const float value : elements<float>(sample[0].view())) ASSERT_EQ(value, 0.25F);
  }
}

TEST(AutomaticInputs, are_for_runs_without_data_or_a_distribution) {
  EXPECT_TRUE(is_automatic({}));
  EXPECT_FALSE(is_automatic({.distribution = Distribution::uniform}));
  EXPECT_FALSE(is_automatic({.data = "inputs.npz"}));
}

}  // namespace
}  // namespace vernier
