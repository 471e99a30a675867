#include "vernier/analysis/layers/reference.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/arrays.h"
#include "tests/model_builder.h"
#include "tests/runtime/torch_fixture.h"
#include "tests/temporary_directory.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;

TEST(LayersReference, of_an_onnx_model_every_tensor_is_a_layer_and_outputs_are_known) {
  const LayersReference reference =
      open_layers_reference({.reference = fixture("mnist/mnist_cnn.onnx")});
  EXPECT_EQ(reference.layers.front().name, "/stem/Conv_output_0");
  EXPECT_FALSE(reference.layers.front().is_output);
  EXPECT_EQ(reference.layers.back(), (Layer{.name = "logits", .is_output = true}));
  EXPECT_EQ(reference.torch(), nullptr);
}

TEST(LayersReference, weights_that_a_node_hands_on_are_no_layers) {
  const TemporaryDirectory folder;
  GraphBuilder graph;
  graph.input("x", DType::f32, {{1}}).output("y", DType::f32, {{1}});
  graph.weight(tensor_of<float>("w", DType::f32, {1}, {1}));
  graph.node("Identity", {"w"}, {"shared"}).node("Add", {"x", "shared"}, {"y"});
  graph.model().save(folder / "model.onnx");
  const LayersReference reference = open_layers_reference({.reference = folder / "model.onnx"});
  EXPECT_THAT(reference.layers, ElementsAre(Layer{.name = "y", .is_output = true}));
}

TEST(LayersReference, of_a_recording_every_array_is_a_layer) {
  const TemporaryDirectory folder;
  const auto path = write_npz(folder / "r.npz", {ramp("b", {1, 2}), ramp("a", {1, 2})});
  const LayersReference reference = open_layers_reference({.reference = path});
  EXPECT_TRUE(reference.is_recorded);
  EXPECT_THAT(reference.layers, ElementsAre(Layer{.name = "b"}, Layer{.name = "a"}));
}

class TorchReference : public TorchTest {};

TEST_F(TorchReference, leaves_have_types_and_those_that_are_not_seen_are_told) {
  const LayersReference reference =
      open_layers_reference({.reference = fixture("mnist/mnist_cnn.pt"), .truth = true});
  EXPECT_EQ(reference.layers.front(), (Layer{.name = "stem", .type = "Conv2d"}));
  EXPECT_THAT(reference.warnings,
              ElementsAre("not compared, it passes its input on unchanged: layer1.0.down"));
  EXPECT_NE(reference.truth, nullptr);
  EXPECT_NE(reference.torch(), nullptr);
}

TEST(LayersReference, long_lists_of_layers_are_cut) {
  const std::vector<std::string> layers = {"a", "b", "c", "d", "e", "f", "g"};
  EXPECT_EQ(not_compared("it did not run", layers),
            "not compared, it did not run: a, b, c, d, e and 2 more");
  EXPECT_EQ(not_compared("never called", std::span(layers).first(1)),
            "not compared, never called: a");
}

}  // namespace
}  // namespace vernier
