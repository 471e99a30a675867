#include "vernier/model/scope.h"

#include <gtest/gtest.h>
#include <vernier_onnx.pb.h>

namespace vernier {
namespace {

std::string path_of(const std::string& name, const std::string& scopes = "") {
  vernier_onnx::NodeProto node;
  node.set_name(name);
  if (!scopes.empty()) {
    auto& entry = *node.add_metadata_props();
    entry.set_key("pkg.torch.onnx.name_scopes");
    entry.set_value(scopes);
  }
  return module_path(node);
}

TEST(Scope, a_numbered_child_repeats_its_parent) {
  EXPECT_EQ(path_of("/conv1/Conv"), "conv1");
  EXPECT_EQ(path_of("/layer1/layer1.0/conv1/Conv"), "layer1.0.conv1");
  EXPECT_EQ(path_of("/features/features.1/block/block.0/block.0.0/Conv"), "features.1.block.0.0");
}

TEST(Scope, a_list_that_is_never_called_stands_only_before_its_children) {
  EXPECT_EQ(path_of("/blocks.0/attn/qkv/MatMul"), "blocks.0.attn.qkv");
  EXPECT_EQ(path_of("/blocks.0/mlp/mlp.2/Add"), "blocks.0.mlp.2");
}

TEST(Scope, a_second_call_keeps_its_number) {
  EXPECT_EQ(path_of("/layer1/layer1.0/relu_1/Relu"), "layer1.0.relu_1");
}

TEST(Scope, a_fusion_stands_behind_the_operator) {
  EXPECT_EQ(path_of("/last/mlp/up/MatMul/MatMulAddFusion"), "last.mlp.up");
}

TEST(Scope, a_node_of_no_module_has_no_path) {
  EXPECT_EQ(path_of("/Flatten"), "");
  EXPECT_EQ(path_of("Constant_55"), "");
  EXPECT_EQ(path_of(""), "");
  EXPECT_EQ(path_of("/"), "");
}

TEST(Scope, metadata_says_more_than_the_name) {
  EXPECT_EQ(path_of("node_conv2d_3", "['', 'layer1', 'layer1.0', 'layer1.0.conv1', 'conv2d_3']"),
            "layer1.0.conv1");
  EXPECT_EQ(path_of("node_relu_1", "['', 'layer1', 'layer1.relu@1', 'relu_1']"), "layer1.relu_1");
  EXPECT_EQ(path_of("node_add", "['', 'add']"), "");
  EXPECT_EQ(path_of("node_add", "not a list"), "");
}

// A Relu whose metadata has this value for the key.
vernier_onnx::NodeProto node_with(const std::string& key, const std::string& value) {
  vernier_onnx::NodeProto node;
  node.set_op_type("Relu");
  node.add_output("y");
  auto& entry = *node.add_metadata_props();
  entry.set_key("pkg.torch.onnx." + key);
  entry.set_value(value);
  return node;
}

TEST(Scope, the_line_of_a_node_is_the_innermost_that_is_not_of_pytorch) {
  const std::string trace =
      "File \"/home/me/train.py\", line 7, in forward\n    y = self.block(x)\n"
      "  File \"/home/me/block.py\", line 31, in forward\n    return self.relu(x)\n"
      "  File \"/env/lib/python3.11/site-packages/torch/nn/modules/activation.py\", line 143, in "
      "forward\n    return F.relu(input, inplace=self.inplace)";
  EXPECT_EQ(source_line(node_with("stack_trace", trace)), "block.py:31");
  EXPECT_EQ(source_line(node_with("stack_trace", "File \"torch/fx/passes/a.py\", line 2, in f")),
            "");
  EXPECT_EQ(source_line(node_with("stack_trace", "File \"half a trace")), "");
  EXPECT_EQ(source_line(node_with("other", trace)), "");
}

TEST(Scope, what_an_optimiser_dropped_is_recalled_by_the_name_of_the_tensor) {
  vernier_onnx::GraphProto graph, stripped;
  *graph.add_node() = node_with("name_scopes", "['', 'layer1', 'layer1.relu', 'relu']");
  const TensorOrigins origins = tensor_origins(graph);
  EXPECT_EQ(origins, (TensorOrigins{{"y", {"layer1.relu", ""}}}));
  stripped.add_node()->add_output("y");
  stripped.add_node()->add_output("z");
  recall_origins(stripped, {{"y", {"layer1.relu", "block.py:31"}}});
  EXPECT_EQ(module_path(stripped.node(0)), "layer1.relu");
  EXPECT_EQ(source_line(stripped.node(0)), "block.py:31");
  EXPECT_EQ(recalled_module_path(stripped.node(0)), "layer1.relu");
  EXPECT_EQ(module_path_in_metadata(stripped.node(0)), std::nullopt);
  EXPECT_EQ(module_path(stripped.node(1)), "");
  recall_origins(graph, {{"y", {"another", ""}}});
  EXPECT_EQ(module_path(graph.node(0)), "layer1.relu");
}

}  // namespace
}  // namespace vernier
