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

}  // namespace
}  // namespace vernier
