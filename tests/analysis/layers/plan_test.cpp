#include "vernier/analysis/layers/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/arrays.h"
#include "tests/model_builder.h"
#include "tests/runtime/torch_fixture.h"
#include "tests/temporary_directory.h"
#include "vernier/report/warning.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(LayersReference, of_an_onnx_model_every_tensor_is_a_layer_and_outputs_are_known) {
  const LayersReference reference =
      open_layers_reference({.reference = fixture("mnist/mnist_cnn.onnx")});
  EXPECT_EQ(reference.layers.front().name, "/stem/Conv_output_0");
  EXPECT_FALSE(reference.layers.front().is_output);
  EXPECT_EQ(reference.layers.back(), (Layer{.name = "logits", .is_output = true}));
  EXPECT_TRUE(reference.index);
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
  EXPECT_THAT(warning_texts(reference.warnings),
              ElementsAre("not compared, it passes its input on unchanged: layer1.0.down"));
  EXPECT_NE(reference.truth, nullptr);
  EXPECT_FALSE(reference.index);
}

const CandidateTensor& named(const std::vector<CandidateTensor>& tensors, const std::string& name) {
  const auto found = std::ranges::find(tensors, name, &CandidateTensor::name);
  if (found == tensors.end()) throw std::out_of_range(name);
  return *found;
}

std::vector<std::string> inputs_of(const std::vector<CandidateTensor>& tensors,
                                   const std::string& name) {
  std::vector<std::string> names;
  for (const std::size_t input : named(tensors, name).inputs) names.push_back(tensors[input].name);
  return names;
}

TEST(CandidateTensors, a_tensor_knows_its_layer_and_what_it_is_computed_from) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).output("y", DType::f32, {{2}});
  builder.node("Relu", {"x"}, {"/block/block.0/act/Relu_output_0"});
  builder.node("Neg", {"/block/block.0/act/Relu_output_0"}, {"y"});
  builder.graph().mutable_node(1)->set_name("/head/Neg");
  const auto tensors = candidate_tensors(ModelIndex(builder.model()));
  EXPECT_EQ(named(tensors, "x").layer, "");
  EXPECT_EQ(named(tensors, "/block/block.0/act/Relu_output_0").layer, "block.0.act");
  EXPECT_EQ(named(tensors, "y").layer, "head");
  EXPECT_TRUE(named(tensors, "y").is_output);
  EXPECT_THAT(inputs_of(tensors, "y"), ElementsAre("/block/block.0/act/Relu_output_0"));
  EXPECT_THAT(inputs_of(tensors, "x"), IsEmpty());
}

TEST(CandidateTensors, metadata_of_the_node_comes_first) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).output("y", DType::f32, {{2}}).node("Relu", {"x"}, {"y"});
  auto& entry = *builder.graph().mutable_node(0)->add_metadata_props();
  entry.set_key("pkg.torch.onnx.name_scopes");
  entry.set_value("['', 'block', 'block.act@1', 'relu_1']");
  const auto tensors = candidate_tensors(ModelIndex(builder.model()));
  EXPECT_EQ(named(tensors, "y").layer, "block.act_1");
  EXPECT_TRUE(named(tensors, "y").layer_is_metadata);
}

TEST(CandidateTensors, what_a_subgraph_gives_is_what_its_node_is_computed_from) {
  GraphBuilder then_branch("then"), else_branch("else");
  then_branch.node("Relu", {"x"}, {"t"}).output("t", DType::f32, {{2}});
  else_branch.node("Neg", {"x"}, {"e"}).output("e", DType::f32, {{2}});
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).input("c", DType::boolean, {}).output("y");
  builder.node(
      "If", {"c"}, {"y"},
      {graph_attribute("then_branch", then_branch), graph_attribute("else_branch", else_branch)});
  const auto tensors = candidate_tensors(ModelIndex(builder.model()));
  EXPECT_THAT(inputs_of(tensors, "y"), ElementsAre("c", "t", "e"));
  EXPECT_THAT(inputs_of(tensors, "t"), ElementsAre("x"));
}

TEST(CandidateTensors, tensors_in_blocks_of_channels_have_no_name) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).output("z", DType::f32, {{2}});
  builder.node("Conv", {"x"}, {"/a/Conv_output_0"}, {}, "com.microsoft.nchwc");
  builder.node("Relu", {"/a/Conv_output_0"}, {"/b/Relu_output_0"});
  builder.node("ReorderOutput", {"/b/Relu_output_0"}, {"/c/y"}, {}, "com.microsoft.nchwc");
  builder.node("Neg", {"/c/y"}, {"z"});
  std::vector<std::string> names;
  for (const CandidateTensor& tensor : candidate_tensors(ModelIndex(builder.model())))
    names.push_back(tensor.name);
  EXPECT_THAT(names, ElementsAre("x", "", "", "/c/y", "z"));
}

TEST(CandidateTensors, of_a_recording_only_names_are_known) {
  const std::vector<std::string> names = {"fc", "/fc/Gemm_output_0"};
  const auto tensors = candidate_tensors(names);
  EXPECT_EQ(tensors[0], (CandidateTensor{.name = "fc"}));
  EXPECT_EQ(tensors[1], (CandidateTensor{.name = "/fc/Gemm_output_0", .layer = "fc"}));
}

}  // namespace
}  // namespace vernier
