// Faults put into real exports: each must be found at its layer, with its cause.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/model_builder.h"
#include "tests/onnx_edits.h"
#include "tests/runtime/torch_fixture.h"
#include "vernier/analysis/layers/layers.h"
#include "vernier/data/random.h"
#include "vernier/model/index.h"
#include "vernier/report/layers.h"

namespace vernier {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// One of the two trained networks of the fixtures, as PyTorch has it and as it was exported.
class Fault : public TorchTest {
 protected:
  explicit Fault(const std::string& name)
      : reference(fixture("mnist/" + name + ".pt")),
        candidate(Model::load(fixture("mnist/" + name + ".onnx"))) {}

  LayersResult validate(LayersOptions options = {}) const {
    options.reference = reference;
    const auto samples =
        random_samples(candidate.inputs(), {.samples = 1, .distribution = Distribution::normal});
    return validate_layers(ModelIndex(candidate), *samples, options);
  }

  void expect_nothing_found() const {
    for (const auto level : {std::optional<Optimization>(),
                             {Optimization::basic},
                             {Optimization::extended},
                             {Optimization::all}}) {
      LayersOptions options;
      options.runtime.optimization = level;
      const LayersResult result = validate(options);
      EXPECT_EQ(result.layers_exceeding, 0);
      EXPECT_THAT(result.weight_mismatches, IsEmpty());
    }
  }

  // The evidence at the first layer out of tolerance, which must be this one, of this cause.
  static std::string origin(const LayersResult& result, const std::string& layer, Cause cause) {
    if (!result.drift_origin) {
      ADD_FAILURE() << "nothing is out of tolerance";
      return {};
    }
    const LayerRow& row = result.rows[*result.drift_origin];
    EXPECT_EQ(row.layer, layer);
    EXPECT_EQ(cause_name(row.cause), cause_name(cause)) << describe_evidence(row, result.rows);
    return describe_evidence(row, result.rows);
  }

  // Every other layer out of tolerance must have it from one that is.
  static void expect_rest_inherited(const LayersResult& result) {
    std::size_t index = result.drift_origin.value_or(result.rows.size());
    while (++index < result.rows.size()) {
      const LayerRow& row = result.rows[index];
      if (row.exceeds) {
        EXPECT_EQ(cause_name(row.cause), "inherited")
            << row.layer << ": " << describe_evidence(row, result.rows);
      }
    }
  }

  std::filesystem::path reference;
  Model candidate;
};

class ConvolutionFault : public Fault {
 protected:
  ConvolutionFault() : Fault("mnist_cnn") {}
};

class TransformerFault : public Fault {
 protected:
  TransformerFault() : Fault("mnist_vit") {}
};

TEST_F(ConvolutionFault, none_injected_none_reported) { expect_nothing_found(); }

TEST_F(TransformerFault, none_injected_none_reported) { expect_nothing_found(); }

TEST_F(ConvolutionFault, one_ulp_of_a_weight_is_told_though_no_layer_exceeds) {
  edit_weight(candidate, "fc.weight",
              [](std::span<float> values) { values[5] = std::nextafterf(values[5], 10); });
  const LayersResult result = validate();
  EXPECT_EQ(result.layers_exceeding, 0);
  ASSERT_THAT(result.weight_mismatches, SizeIs(1));
  EXPECT_EQ(result.weight_mismatches[0].module, "fc");
  EXPECT_EQ(result.weight_mismatches[0].difference.max_ulp_diff, 1);
}

TEST_F(ConvolutionFault, a_folded_weight_that_meets_only_zeros_fails_its_layer) {
  edit_weight(candidate, "onnx::Conv_98",
              [](std::span<float> values) { values[values.size() / 2] += 1; });
  const LayersResult result = validate();
  EXPECT_FALSE(result.pass());
  EXPECT_EQ(result.layers_exceeding, 1);
  origin(result, "layer2.0.conv1", Cause::weight_bit_mismatch);
  ASSERT_THAT(result.weight_mismatches, SizeIs(1));
  EXPECT_EQ(result.weight_mismatches[0].parameter, "layer2.0.conv1.weight");
}

TEST_F(ConvolutionFault, one_ulp_of_a_weight_is_the_cause_where_it_exceeds) {
  edit_weight(candidate, "fc.weight", [](std::span<float> values) {
    for (float& value : values) value = std::nextafterf(value, 10);
  });
  const LayersResult result = validate({.tolerance = 0});
  EXPECT_EQ(cause_name(result.rows.back().cause), "weight_bit_mismatch");
}

TEST_F(ConvolutionFault, one_percent_of_a_weight) {
  edit_weight(candidate, "fc.weight", one_percent_up);
  EXPECT_THAT(origin(validate(), "fc", Cause::weight_bit_mismatch),
              HasSubstr("240 of 240 elements differ"));
}

TEST_F(ConvolutionFault, one_percent_of_a_weight_that_a_batch_norm_is_folded_into) {
  edit_weight(candidate, "onnx::Conv_86", one_percent_up);
  const LayersResult result = validate();
  EXPECT_THAT(origin(result, "layer1.0.bn2", Cause::weight_bit_mismatch),
              HasSubstr("layer1.0.bn2 is folded in"));
  expect_rest_inherited(result);
}

TEST_F(TransformerFault, a_transposed_weight) {
  turn_weight(candidate, "onnx::MatMul_390");
  const LayersResult result = validate();
  EXPECT_THAT(origin(result, "blocks.1.attn.proj", Cause::weight_bit_mismatch),
              HasSubstr("its axes are swapped"));
  expect_rest_inherited(result);
}

TEST_F(ConvolutionFault, an_axis_permutation_in_the_middle) {
  insert_after(candidate, "/layer1/layer1.0/relu/Relu", {make_transpose({0, 1, 3, 2})});
  EXPECT_THAT(origin(validate(), "layer1.0.relu", Cause::layout_mismatch),
              HasSubstr("permutation (0,1,3,2)"));
}

TEST_F(ConvolutionFault, float16_around_one_operator) {
  insert_after(candidate, "/layer1/layer1.1/conv2/Conv",
               {make_cast(DType::f16), make_cast(DType::f32)});
  const LayersResult result = validate();
  EXPECT_THAT(origin(result, "layer1.1.bn2", Cause::precision_loss), HasSubstr("float16"));
  expect_rest_inherited(result);
}

TEST_F(TransformerFault, another_epsilon_in_one_layer_norm) {
  set_constant(candidate, "/blocks.1/ln2/Constant_1", 1e-3F);
  const LayersResult result = validate();
  EXPECT_THAT(origin(result, "blocks.1.ln2", Cause::attribute_mismatch),
              HasSubstr("is 0.001 in the candidate, 1e-05 in the reference"));
  expect_rest_inherited(result);
}

// Makes the GELU of the block be computed by tanh.
void use_tanh(Model& model, const std::string& scope) {
  vernier_onnx::NodeProto& gelu = node(model, scope + "/Mul_1");
  gelu.set_op_type("FastGelu");
  gelu.set_domain("com.microsoft");
  gelu.clear_input();
  gelu.add_input(node(model, scope + "/Div").input(0));
  auto& import = *model.proto().add_opset_import();
  import.set_domain("com.microsoft");
  import.set_version(1);
}

TEST_F(TransformerFault, the_other_form_of_a_gelu) {
  use_tanh(candidate, "/blocks.1/mlp/mlp.1");
  const LayersResult result = validate();
  EXPECT_THAT(origin(result, "blocks.1.mlp.1", Cause::attribute_mismatch),
              HasSubstr("is tanh in the candidate, none in the reference"));
  expect_rest_inherited(result);
}

TEST_F(TransformerFault, a_factor_that_was_moved_into_the_next_weight_is_no_fault) {
  set_constant(candidate, "/blocks.1/mlp/mlp.1/Constant_2", 1);
  edit_weight(candidate, "onnx::MatMul_392", [](std::span<float> values) {
    for (float& value : values) value /= 2;
  });
  const LayersResult result = validate();
  EXPECT_EQ(result.layers_exceeding, 0);
  EXPECT_TRUE(result.pass());
}

TEST_F(TransformerFault, a_factor_that_was_only_lost_is_a_fault) {
  set_constant(candidate, "/blocks.1/mlp/mlp.1/Constant_2", 1);
  origin(validate(), "blocks.1.mlp.1", Cause::op_implementation);
}

TEST_F(TransformerFault, another_epsilon_that_does_no_harm_is_not_the_cause) {
  set_constant(candidate, "/blocks.1/ln2/Constant_1", 1.01e-5F);
  insert_after(candidate, "/blocks.1/ln2/Sqrt", {make_node("Abs"), make_node("Sqrt")});
  const LayersResult result = validate();
  origin(result, "blocks.1.ln2", Cause::op_implementation);
}

TEST_F(ConvolutionFault, a_softmax_behind_the_last_layer_is_found_at_the_output) {
  const auto& nodes = candidate.graph().node();
  insert_after(candidate, nodes[nodes.size() - 1].name(),
               {make_node("Softmax", {int_attribute("axis", 1)})});
  const LayersResult result = validate();
  EXPECT_FALSE(result.pass());
  EXPECT_FALSE(result.drift_origin);
  ASSERT_THAT(result.outputs, SizeIs(1));
  EXPECT_EQ(cause_name(result.outputs[0].cause), "missing_or_extra_op");
  EXPECT_THAT(describe_evidence(result.outputs[0], result.rows),
              HasSubstr("it is Softmax of the reference's output"));
}

TEST_F(ConvolutionFault, dropout_left_active) {
  candidate.graph().add_initializer()->CopyFrom(
      make_tensor_proto(tensor_of<float>("ratio", DType::f32, {}, {0.5F})));
  candidate.graph().add_initializer()->CopyFrom(
      make_tensor_proto(tensor_of<std::uint8_t>("training", DType::boolean, {}, {1})));
  vernier_onnx::NodeProto dropout = make_node("Dropout");
  for (const char* input : {"", "ratio", "training"}) dropout.add_input(input);
  insert_after(candidate, "/Flatten", {dropout});
  node(candidate, "/Flatten_output_0_inserted_0").set_output(0, "/drop/Dropout_output_0");
  rewire(candidate, "/Flatten_output_0", "/drop/Dropout_output_0");
  const LayersResult result = validate();
  EXPECT_THAT(origin(result, "drop", Cause::missing_or_extra_op),
              HasSubstr("computes as in training"));
}

TEST_F(ConvolutionFault, a_relu_removed) {
  remove_module(candidate, "/layer1/layer1.1/relu/", "/layer1/layer1.1/conv1/Conv_output_0",
                "/layer1/layer1.1/relu/Relu_output_0");
  const LayersResult result = validate();
  origin(result, "layer1.1.relu", Cause::missing_or_extra_op);
  expect_rest_inherited(result);
}

TEST_F(TransformerFault, a_nan_constant) {
  set_constant(candidate, "/blocks.0/mlp/mlp.1/Constant_1", NAN);
  const LayersResult result = validate();
  EXPECT_THAT(origin(result, "blocks.0.mlp.1", Cause::nonfinite),
              HasSubstr("/blocks.0/mlp/mlp.1/Constant_1_output_0 is not finite"));
  expect_rest_inherited(result);
}

TEST_F(TransformerFault, a_leaf_missing) {
  remove_module(candidate, "/blocks.1/ln2/", "/blocks.1/Add_output_0",
                "/blocks.1/ln2/Add_1_output_0");
  origin(validate(), "blocks.1.ln2", Cause::missing_or_extra_op);
}

TEST_F(TransformerFault, a_leaf_that_nobody_reads) {
  rewire(candidate, "/blocks.1/ln2/Add_1_output_0", "/blocks.1/Add_output_0");
  EXPECT_EQ(origin(validate(), "blocks.1.mlp.0", Cause::missing_or_extra_op),
            "nothing reads blocks.1.ln2, which the reference computes before it");
}

TEST_F(TransformerFault, two_layers_swapped) {
  // The second block before the first.
  rewire(candidate, "/Add_output_0", "input of the first");
  rewire(candidate, "/blocks.0/Add_1_output_0", "/Add_output_0");
  rewire(candidate, "/blocks.1/Add_1_output_0", "/blocks.0/Add_1_output_0");
  rewire(candidate, "input of the first", "/blocks.1/Add_1_output_0");
  sort_nodes(candidate);
  const LayersResult result = validate();
  EXPECT_EQ(origin(result, "blocks.0.ln1", Cause::missing_or_extra_op),
            "it reads blocks.1.mlp.2, which the reference computes after it");
}

TEST_F(TransformerFault, weights_of_two_layers_swapped) {
  node(candidate, "/blocks.0/mlp/mlp.0/MatMul").set_input(1, "onnx::MatMul_391");
  node(candidate, "/blocks.1/mlp/mlp.0/MatMul").set_input(1, "onnx::MatMul_385");
  const LayersResult result = validate();
  origin(result, "blocks.0.mlp.0", Cause::weight_bit_mismatch);
}

}  // namespace
}  // namespace vernier
