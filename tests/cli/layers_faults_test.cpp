// Faults put into models that are exported here: each must be found at its layer, with its cause.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "tests/cli/run.h"
#include "tests/onnx_edits.h"
#include "tests/temporary_directory.h"
#include "vernier/analysis/layers/layers.h"
#include "vernier/data/random.h"
#include "vernier/exporting/exporter.h"
#include "vernier/model/index.h"
#include "vernier/report/layers.h"

namespace vernier {
namespace {

using testing::can_export;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* faulty_model_file = R"(
import torch
import torchvision

def vit():
    torch.manual_seed(0)
    model = torchvision.models.VisionTransformer(
        image_size=32, patch_size=8, num_layers=2, num_heads=4, hidden_dim=32, mlp_dim=64)
    return model.eval(), torch.rand(1, 3, 32, 32)
)";

// What a fault must be found as: the first layer out of tolerance, and why.
struct Finding {
  std::string layer;
  Cause cause = Cause::none;
  std::string detail;  // a part of it
};

// A model exported once for all faults of a test.
class LayersFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_export()) GTEST_SKIP() << "no python3 on PATH has PyTorch";
    std::ofstream(folder_ / "models.py") << faulty_model_file;
  }

  void export_source(const std::string& source, const std::string& shape = "") {
    exported_ = export_model({.source = source, .shape = shape}, folder_ / "model");
    model_.emplace(Model::load(exported_.onnx));
  }

  LayersResult validate(const Model& candidate,
                        std::optional<Optimization> optimization = std::nullopt) const {
    LayersOptions options{.reference = exported_.torchscript};
    options.runtime.optimization = optimization;
    const auto samples =
        random_samples(candidate.inputs(), {.samples = 1, .distribution = Distribution::normal});
    return validate_layers(ModelIndex(candidate), *samples, options);
  }

  void expect_nothing_found() const {
    for (const auto level : {std::optional<Optimization>(), {Optimization::extended}}) {
      const LayersResult result = validate(*model_, level);
      EXPECT_EQ(result.layers_exceeding, 0);
      EXPECT_THAT(result.weight_mismatches, IsEmpty());
    }
  }

  template <typename Inject>
  void expect_found(Inject inject, const Finding& expected) const {
    SCOPED_TRACE(expected.layer + ", " + std::string(cause_name(expected.cause)));
    Model candidate = model_->clone();
    inject(candidate);
    const LayersResult result = validate(candidate);
    ASSERT_TRUE(result.drift_origin);
    const LayerRow& origin = result.rows[*result.drift_origin];
    EXPECT_EQ(origin.layer, expected.layer);
    const std::string detail = describe_evidence(origin, result.rows);
    EXPECT_EQ(cause_name(origin.cause), cause_name(expected.cause)) << detail;
    EXPECT_THAT(detail, HasSubstr(expected.detail));
  }

  TemporaryDirectory folder_;
  ExportedModel exported_;
  std::optional<Model> model_;
};

std::string weight_of(Model& model, const std::string& name) { return node(model, name).input(1); }

TEST_F(LayersFaults, are_found_in_resnet18) {
  export_source("torchvision/resnet18", "1x3x64x64");
  expect_nothing_found();
  expect_found([&](Model& model) { edit_weight(model, "fc.weight", one_percent_up); },
               {"fc", Cause::weight_bit_mismatch, "512000 of 512000 elements differ"});
  expect_found(
      [&](Model& model) {
        insert_after(model, "/layer1/layer1.0/relu/Relu", {make_transpose({0, 1, 3, 2})});
      },
      {"layer1.0.relu", Cause::layout_mismatch, "permutation (0,1,3,2)"});
  expect_found(
      [&](Model& model) {
        remove_module(model, "/layer3/layer3.1/relu/", "/layer3/layer3.1/conv1/Conv_output_0",
                      "/layer3/layer3.1/relu/Relu_output_0");
      },
      {"layer3.1.relu", Cause::missing_or_extra_op, "nothing in the candidate stands for it"});
  expect_found(
      [&](Model& model) {
        const std::string first = weight_of(model, "/layer1/layer1.0/conv1/Conv");
        node(model, "/layer1/layer1.0/conv1/Conv")
            .set_input(1, weight_of(model, "/layer1/layer1.0/conv2/Conv"));
        node(model, "/layer1/layer1.0/conv2/Conv").set_input(1, first);
      },
      {"layer1.0.bn1", Cause::weight_bit_mismatch, "layer1.0.conv1.weight"});
}

TEST_F(LayersFaults, are_found_in_mobilenet_v3_small) {
  export_source("torchvision/mobilenet_v3_small", "1x3x64x64");
  expect_nothing_found();
  const std::string first = "/features/features.0/features.0.0/Conv";
  expect_found(
      [&](Model& model) {
        insert_after(model, first, {make_cast(DType::f16), make_cast(DType::f32)});
      },
      {"features.0.1", Cause::precision_loss, "float16"});
  expect_found(
      [&](Model& model) {
        remove_module(model, "/features/features.0/features.0.2/", first + "_output_0",
                      "/features/features.0/features.0.2/HardSwish_output_0");
      },
      {"features.0.2", Cause::missing_or_extra_op});
  expect_found(
      [&](Model& model) {
        *model.graph().add_initializer() =
            make_tensor_proto(tensor_of<float>("nan", DType::f32, {}, {NAN}));
        vernier_onnx::NodeProto multiply = make_node("Mul");
        for (const char* input : {"", "nan"}) multiply.add_input(input);
        insert_after(model, "/features/features.2/block/block.0/block.0.2/Relu", {multiply});
      },
      {"features.2.block.0.2", Cause::nonfinite, "constant nan is not finite"});
}

TEST_F(LayersFaults, are_found_in_a_vision_transformer) {
  export_source((folder_ / "models.py").string() + ":vit");
  expect_nothing_found();
  const std::string layer = "/encoder/layers/encoder_layer_1/";
  const std::string norm = layer + "ln_2/LayerNormalization";
  expect_found([&](Model& model) { node(model, norm).mutable_attribute(1)->set_f(1e-3F); },
               {"encoder.layers.encoder_layer_1.ln_2", Cause::attribute_mismatch,
                "is 0.001 in the candidate, 1e-06 in the reference"});
  expect_found(
      [&](Model& model) {
        turn_weight(model, "encoder.layers.encoder_layer_1.self_attention.out_proj.weight");
      },
      {"encoder.layers.encoder_layer_1.dropout", Cause::weight_bit_mismatch,
       "its axes are swapped"});
  expect_found(
      [&](Model& model) {
        remove_module(model, layer + "ln_2/", layer + "Add_output_0", norm + "_output_0");
      },
      {"encoder.layers.encoder_layer_1.ln_2", Cause::missing_or_extra_op});
}

}  // namespace
}  // namespace vernier
