#include "vernier/analysis/inputs/pick_inputs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixture.h"
#include "tests/model_builder.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

std::vector<Tensor> first_sample(const Model& model, const InputSpec& spec = {}) {
  return automatic_inputs(ModelIndex(model), nullptr, spec, {}).samples->sample(0);
}

Model waveform(Dim length) {
  GraphBuilder builder;
  builder.input("sound", DType::f32, {{-1, "batch"}, {1}, std::move(length)});
  builder.weight(tensor_of<float>("w", DType::f32, {2, 1, 4}, std::vector<float>(8, 0.5F)));
  builder.node("Conv", {"sound", "w"}, {"y"}).output("y");
  return builder.model();
}

TEST(AutomaticInputs, a_waveform_of_any_length_is_a_second) {
  EXPECT_EQ(first_sample(waveform({-1, "time"}))[0].shape, (Shape{1, 1, 16000}));
  EXPECT_EQ(first_sample(waveform({100}))[0].shape, (Shape{1, 1, 100}));
}

// A network that reads so many elements of the last axis, and no others.
Model of_one_size(std::vector<Dim> shape, std::int64_t size) {
  GraphBuilder builder;
  const std::size_t axes = shape.size();
  builder.input("x", DType::f32, std::move(shape));
  Shape kernel(axes, 1);
  builder.weight(tensor_of<float>("w", DType::f32, kernel, {1}));
  std::vector<std::int64_t> flat = {1, size};
  builder.weight(tensor_of<std::int64_t>("flat", DType::i64, {2}, flat));
  builder.node("Conv", {"x", "w"}, {"y"}).node("Reshape", {"y", "flat"}, {"z"}).output("z");
  return builder.model();
}

TEST(AutomaticInputs, an_open_axis_has_the_largest_size_that_the_model_takes) {
  const Dim batch{-1, "batch"}, open{-1, "n"};
  EXPECT_EQ(first_sample(of_one_size({batch, {1}, open}, 512))[0].shape, (Shape{1, 1, 512}));
  EXPECT_EQ(first_sample(of_one_size({batch, {1}, open}, 4096))[0].shape, (Shape{1, 1, 4096}));
  EXPECT_EQ(first_sample(of_one_size({batch, {1}, open, {-1, "m"}}, 224 * 224))[0].shape,
            (Shape{1, 1, 224, 224}));
  EXPECT_EQ(first_sample(of_one_size({batch, {1}, open, {48}}, 64 * 48))[0].shape,
            (Shape{1, 1, 64, 48}));
}

TEST(AutomaticInputs, a_shape_that_was_given_is_kept) {
  EXPECT_EQ(first_sample(waveform({-1, "time"}), {.shapes = {{"sound", {2, 1, 64}}}})[0].shape,
            (Shape{2, 1, 64}));
}

TEST(AutomaticInputs, the_reference_tells_what_an_input_of_integers_is_for) {
  const auto of = [](const std::string& op) {
    GraphBuilder builder;
    builder.input("ids", DType::i64, {{1, ""}, {8, ""}})
        .input("mask", DType::i64, {{1, ""}, {8, ""}});
    builder.weight(tensor_of<std::int64_t>("one", DType::i64, {}, {1}));
    builder.node(op, {"one", "mask"}, {"kept"}).node("Add", {"kept", "ids"}, {"y"}).output("y");
    return builder.model();
  };
  const ModelIndex reference(of("Sub")), candidate(of("Mul"));
  const Inputs inputs = automatic_inputs(candidate, &reference, {}, {});
  EXPECT_THAT(to_f64(inputs.samples->sample(0).at(1)), Each(1));
  EXPECT_THAT(to_f64(inputs.samples->sample(1).at(1)), ElementsAre(1, 1, 1, 1, 0, 0, 0, 0));
}

TEST(AutomaticInputs, the_same_seed_gives_the_same_bytes) {
  const Model model = Model::load(fixture("mnist/mnist_cnn.int8.onnx"));
  EXPECT_EQ(first_sample(model), first_sample(model));
  EXPECT_NE(first_sample(model), first_sample(model, {.seed = 7}));
}

// FNV-1a.
std::uint64_t hash_of(const Tensor& tensor) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::byte byte : tensor.bytes) {
    hash ^= static_cast<std::uint64_t>(byte);
    hash *= 0x100000001b3;
  }
  return hash;
}

// A float model has no quantizers that could pick: what is drawn depends on the seed alone.
TEST(AutomaticInputs, the_bytes_of_a_seed_are_the_same_on_every_machine) {
  GraphBuilder image;
  image.input("image", DType::f32, {{1}, {3}, {32}, {32}})
      .weight(tensor_of<float>("w", DType::f32, {1, 3, 1, 1}, {1, 1, 1}))
      .node("Conv", {"image", "w"}, {"y"})
      .output("y");
  const Model model = image.model();
  const Inputs inputs = automatic_inputs(ModelIndex(model), nullptr, {}, {});
  std::vector<std::uint64_t> hashes;
  for (std::int64_t i = 0; i < 6; ++i)  // one of each family
    hashes.push_back(hash_of(inputs.samples->sample(i)[0]));
  EXPECT_EQ(hashes, (std::vector<std::uint64_t>{12298326997336719710U, 17523837901383069862U,
                                                5965432706781879319U, 6777416780152807141U,
                                                11477408683263595325U, 14035110231077308340U}));
  EXPECT_EQ(hash_of(first_sample(waveform({100}))[0]), 1399442872342501069U);
}

TEST(AutomaticInputs, there_are_as_many_as_were_asked_for) {
  const Model model = Model::load(fixture("mnist/mnist_cnn.int8.onnx"));
  EXPECT_EQ(automatic_inputs(ModelIndex(model), nullptr, {.samples = 150}, {}).samples->size(),
            150);
}

// As many as these held 80 GB.
TEST(AutomaticInputs, any_number_of_large_ones_takes_little_memory) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {1 << 20}}).node("Neg", {"x"}, {"y"}).output("y");
  const Inputs inputs =
      automatic_inputs(ModelIndex(builder.model()), nullptr, {.samples = 20'000}, {});
  EXPECT_EQ(inputs.samples->size(), 20'000);
  const std::vector<Tensor> last = inputs.samples->sample(19'999);
  EXPECT_NE(inputs.samples->sample(0), last);
  for (std::int64_t i = 1; i < 80; ++i) inputs.samples->sample(i);  // more than are kept
  EXPECT_EQ(inputs.samples->sample(79), inputs.samples->sample(79));
  EXPECT_EQ(inputs.samples->sample(19'999), last);
}

TEST(AutomaticInputs, the_next_best_are_others) {
  const Model model = Model::load(fixture("mnist/mnist_cnn.int8.onnx"));
  for (const InputSpec& spec :
       {InputSpec{}, InputSpec{.samples = 150}, InputSpec{.sample_index = 1}}) {
    const Inputs inputs = automatic_inputs(ModelIndex(model), nullptr, spec, {});
    Samples* others = inputs.samples->others();
    ASSERT_TRUE(others);
    EXPECT_EQ(others->size(), 24);
    EXPECT_NE(others->sample(0), inputs.samples->sample(0));
    EXPECT_NE(others->sample(0), others->sample(1));
  }
  EXPECT_FALSE(automatic_inputs(ModelIndex(waveform({100})), nullptr, {}, {}).samples->others());
}

TEST(AutomaticInputs, a_constant_is_the_same_in_every_sample_and_in_those_that_are_bred) {
  const Model model = Model::load(fixture("mnist/mnist_cnn.int8.onnx"));
  const std::vector<TensorSpec> inputs = model.inputs();
  const IoMapping io{.constants = {{inputs[0].name, {0.25}}}, .steps = 2};
  const Inputs made = automatic_inputs({.inputs = inputs, .onnx = &model, .io = io},
                                       ModelIndex(model), nullptr, {.samples = 3}, {});
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
