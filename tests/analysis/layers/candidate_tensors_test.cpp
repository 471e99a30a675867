#include "vernier/analysis/layers/candidate_tensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model_builder.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

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
  const auto tensors = candidate_tensors(builder.model());
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
  const auto tensors = candidate_tensors(builder.model());
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
  const auto tensors = candidate_tensors(builder.model());
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
  for (const CandidateTensor& tensor : candidate_tensors(builder.model()))
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
