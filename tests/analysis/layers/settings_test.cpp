#include "vernier/analysis/layers/settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model_builder.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Attributes = std::vector<vernier_onnx::AttributeProto>;
using Texts = std::map<std::string, std::string>;

vernier_onnx::AttributeProto text_attribute(const std::string& name, const std::string& value) {
  vernier_onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(vernier_onnx::AttributeProto::STRING);
  attribute.set_s(value);
  return attribute;
}

vernier_onnx::AttributeProto ints_attribute(const std::string& name,
                                            const std::vector<std::int64_t>& values) {
  vernier_onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(vernier_onnx::AttributeProto::INTS);
  for (const std::int64_t value : values) attribute.add_ints(value);
  return attribute;
}

GraphBuilder one_node(const std::string& op, const Attributes& attributes) {
  return GraphBuilder()
      .input("x", DType::f32, {{1}})
      .output("y")
      .node(op, {"x"}, {"y"}, attributes);
}

std::vector<OtherAttribute> differing(const Model& model, const WatchedTensor& leaf) {
  const ModelIndex index(model);
  return differing_settings(region_of(index, "y", [](const std::string&) { return false; }), leaf,
                            4);
}

// "mode: nearest, not linear"
std::vector<std::string> found(const std::string& op, const Attributes& attributes,
                               const WatchedTensor& leaf) {
  std::vector<std::string> texts;
  for (const OtherAttribute& other : differing(one_node(op, attributes).model(), leaf))
    texts.push_back(other.evidence.name + ": " + other.evidence.candidate.at(0) + ", not " +
                    other.evidence.reference.at(0));
  return texts;
}

const std::string coordinates = "coordinate_transformation_mode";

TEST(Settings, the_mode_of_a_resize_and_its_corners_are_the_modules) {
  const WatchedTensor leaf{.type = "Upsample",
                           .settings = {{"mode", "bilinear"}, {"align_corners", "1"}}};
  EXPECT_THAT(
      found("Resize",
            {text_attribute("mode", "linear"), text_attribute(coordinates, "align_corners")}, leaf),
      IsEmpty());
  EXPECT_THAT(
      found("Resize",
            {text_attribute("mode", "nearest"), text_attribute(coordinates, "half_pixel")}, leaf),
      ElementsAre("mode: nearest, not linear", coordinates + ": half_pixel, not align_corners"));
}

TEST(Settings, an_unset_attribute_has_its_default) {
  const WatchedTensor leaf{.type = "Upsample", .settings = {{"mode", "bicubic"}}};
  EXPECT_THAT(found("Resize", {text_attribute("mode", "cubic")}, leaf), IsEmpty());
  EXPECT_THAT(found("Resize", {}, leaf), ElementsAre("mode: nearest, not cubic"));
  vernier_onnx::AttributeProto factor;
  factor.set_name("cubic_coeff_a");
  factor.set_type(vernier_onnx::AttributeProto::FLOAT);
  factor.set_f(-0.5F);
  EXPECT_THAT(found("Resize", {text_attribute("mode", "cubic"), factor}, leaf),
              ElementsAre("cubic_coeff_a: -0.5, not -0.75"));
}

TEST(Settings, an_operators_name_tells_its_mode) {
  const WatchedTensor traced{.type = "Upsample",
                             .settings = {{"operators", "size mul upsample_nearest2d"}}};
  const WatchedTensor called{.type = "aten.upsample_bilinear2d",
                             .settings = {{"align_corners", "0"}}};
  EXPECT_THAT(
      found("Resize",
            {text_attribute(coordinates, "asymmetric"), text_attribute("nearest_mode", "ceil")},
            traced),
      ElementsAre("nearest_mode: ceil, not floor"));
  EXPECT_THAT(
      found("Resize",
            {text_attribute("mode", "linear"), text_attribute(coordinates, "align_corners")},
            called),
      ElementsAre(coordinates + ": align_corners, not pytorch_half_pixel"));
}

TEST(Settings, dilation_stride_and_padding_of_a_convolution_are_the_modules) {
  const WatchedTensor leaf{.type = "Conv2d",
                           .settings = {{"dilation", "[2,2]"},
                                        {"stride", "[1,1]"},
                                        {"padding", "[2,2]"},
                                        {"padding_mode", "zeros"}}};
  const auto conv = [&](std::vector<std::int64_t> dilations, std::vector<std::int64_t> pads) {
    return found("Conv",
                 {ints_attribute("kernel_shape", {3, 3}), ints_attribute("dilations", dilations),
                  ints_attribute("pads", pads)},
                 leaf);
  };
  EXPECT_THAT(conv({2, 2}, {2, 2, 2, 2}), IsEmpty());
  EXPECT_THAT(conv({1, 1}, {1, 1, 1, 1}),
              ElementsAre("dilations: [1,1], not [2,2]", "pads: [1,1,1,1], not [2,2,2,2]"));
}

TEST(Settings, one_number_is_for_all_axes_of_a_pooling) {
  const WatchedTensor leaf{.type = "AvgPool2d",
                           .settings = {{"stride", "2"}, {"count_include_pad", "1"}}};
  EXPECT_THAT(
      found("AveragePool",
            {ints_attribute("kernel_shape", {3, 3}), ints_attribute("strides", {2, 1})}, leaf),
      ElementsAre("strides: [2,1], not [2,2]", "count_include_pad: 0, not 1"));
}

TEST(Settings, a_padding_is_named_as_onnx_names_it) {
  EXPECT_THAT(found("Pad", {text_attribute("mode", "edge")}, {.type = "ReflectionPad2d"}),
              ElementsAre("mode: edge, not reflect"));
  EXPECT_THAT(found("Pad", {}, {.type = "Conv2d", .settings = {{"padding_mode", "replicate"}}}),
              ElementsAre("mode: constant, not edge"));
  EXPECT_THAT(found("Pad", {}, {.type = "ZeroPad2d"}), IsEmpty());
  EXPECT_THAT(found("Pad", {}, {.type = "Unknown"}), IsEmpty());
}

TEST(Settings, a_softmax_has_the_same_axis_counted_from_either_end) {
  const WatchedTensor leaf{.type = "Softmax", .settings = {{"dim", "1"}}};
  EXPECT_THAT(found("Softmax", {int_attribute("axis", -3)}, leaf), IsEmpty());
  EXPECT_THAT(found("Softmax", {int_attribute("axis", 1)}, leaf), IsEmpty());
  EXPECT_THAT(found("Softmax", {int_attribute("axis", 3)}, leaf), ElementsAre("axis: 3, not 1"));
}

TEST(Settings, the_numbers_of_a_grid_sampler_are_its_modes) {
  const WatchedTensor leaf{
      .type = "aten.grid_sampler_2d",
      .settings = {{"interpolation_mode", "0"}, {"padding_mode", "1"}, {"align_corners", "0"}}};
  EXPECT_THAT(
      found("GridSample",
            {text_attribute("mode", "bilinear"), text_attribute("padding_mode", "border")}, leaf),
      IsEmpty());
  EXPECT_THAT(found("GridSample",
                    {text_attribute("mode", "nearest"), int_attribute("align_corners", 1)}, leaf),
              ElementsAre("mode: nearest, not bilinear", "padding_mode: zeros, not border",
                          "align_corners: 1, not 0"));
}

TEST(Settings, a_number_that_is_no_mode_says_nothing) {
  for (const char* number : {"-1", "3", "[0,1]", "zero"}) {
    const WatchedTensor leaf{
        .type = "aten.grid_sampler_2d",
        .settings = {{"interpolation_mode", number}, {"padding_mode", number}}};
    EXPECT_THAT(found("GridSample", {text_attribute("mode", "nearest")}, leaf), IsEmpty());
  }
}

TEST(Settings, the_mode_of_a_grid_sample_is_named_as_the_models_opset_names_it) {
  const WatchedTensor leaf{.type = "aten.grid_sampler_2d",
                           .settings = {{"interpolation_mode", "0"}}};
  const auto graph = one_node("GridSample", {text_attribute("mode", "nearest")});
  EXPECT_EQ(differing(graph.model(16), leaf).at(0).evidence.reference.at(0), "bilinear");
  EXPECT_EQ(differing(graph.model(20), leaf).at(0).evidence.reference.at(0), "linear");
  EXPECT_THAT(differing(one_node("GridSample", {}).model(20), leaf), IsEmpty());
}

TEST(Settings, correcting_sets_the_attribute) {
  Model model = one_node("Resize", {text_attribute("mode", "nearest")}).model();
  const WatchedTensor leaf{.type = "Upsample", .settings = {{"mode", "bilinear"}}};
  const auto others = differing(model, leaf);
  ASSERT_EQ(others.size(), 1U);
  others[0].correct(model);
  EXPECT_THAT(differing(model, leaf), IsEmpty());
}

TEST(Settings, a_convolution_that_pads_with_zeros_is_given_the_modules_padding) {
  Model model = one_node("Conv", {ints_attribute("kernel_shape", {3, 3}),
                                  ints_attribute("pads", {1, 2, 1, 2})})
                    .model();
  const auto others =
      differing(model, {.type = "Conv2d", .settings = {{"padding_mode", "reflect"}}});
  ASSERT_EQ(others.size(), 1U);
  others[0].correct(model);
  ASSERT_EQ(model.graph().node_size(), 2);
  const auto& padding = model.graph().node(0);
  EXPECT_EQ(padding.op_type(), "Pad");
  EXPECT_EQ(attribute_string(padding, "mode", ""), "reflect");
  EXPECT_EQ(model.graph().node(1).input(0), padding.output(0));
  EXPECT_THAT(to_f64(model.view(model.graph().initializer(0))),
              ElementsAre(0, 0, 1, 2, 0, 0, 1, 2));
}

}  // namespace
}  // namespace vernier
