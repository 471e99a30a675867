#include "vernier/analysis/check/groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <fstream>
#include <functional>

#include "tests/analysis/check/checking.h"
#include "tests/failure.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string rgb = "[0.485, 0.456, 0.406]";
const std::string bgr = "[0.406, 0.456, 0.485]";
const std::string deviation = "[0.229, 0.224, 0.225]";

// What is fed to the first Conv, from the input "x".
using Steps = std::function<void(GraphBuilder&)>;

void nothing(GraphBuilder& builder) { builder.node("Identity", {"x"}, {"fed"}); }

Steps normalised(const std::vector<float>& mean, const std::vector<float>& std) {
  return [=](GraphBuilder& builder) {
    builder.weight(f32("mean", {1, 3, 1, 1}, mean))
        .weight(f32("std", {1, 3, 1, 1}, std))
        .node("Sub", {"x", "mean"}, {"centred"})
        .node("Div", {"centred", "std"}, {"fed"});
  };
}

void divided(GraphBuilder& builder) {
  builder.weight(f32("bytes", {}, {255})).node("Div", {"x", "bytes"}, {"fed"});
}

Model image_model(const Steps& steps,
                  const std::vector<Dim>& shape = {{-1, "batch"}, {3, ""}, {8, ""}, {8, ""}}) {
  GraphBuilder builder;
  builder.input("x", DType::f32, shape);
  steps(builder);
  return builder.weight(filled("w", {1, 3, 1, 1}, 1))
      .node("Conv", {"fed", "w"}, {"y"})
      .output("y")
      .model();
}

// What is found with this "preprocessing" object.
Findings with(const Model& model, const std::string& preprocessing) {
  const TemporaryDirectory folder;
  std::ofstream(folder / "p.json") << "{\"preprocessing\": " << preprocessing << "}";
  return check_preprocessing(ModelIndex(model), {.preprocessing = folder / "p.json"});
}

std::string object(const std::string& mean, const std::string& more = "") {
  return "{\"mean\": " + mean + ", \"std\": " + deviation + more + "}";
}

TEST(PreprocessingCheck, a_config_that_fits_is_in_order) {
  EXPECT_THAT(with(image_model(nothing), object(rgb)), IsEmpty());
  EXPECT_THAT(
      with(image_model(normalised({0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F})), "{}"),
      IsEmpty());
  EXPECT_THAT(with(image_model(normalised({123.7F, 116.3F, 103.5F}, {58.4F, 57.1F, 57.4F})),
                   "{\"rescale_factor\": 1}"),
              IsEmpty());
}

TEST(PreprocessingCheck, normalising_twice_is_found) {
  const Findings found = with(
      image_model(normalised({0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F})), object(rgb));
  EXPECT_EQ(told(found, "normalised-twice"),
            "node_2: the graph applies mean [0.485, 0.456, 0.406] and std [0.229, 0.224, 0.225], "
            "the preprocessing mean [0.485, 0.456, 0.406] and std [0.229, 0.224, 0.225]");
}

TEST(PreprocessingCheck, a_multiplication_and_a_batchnorm_normalise_too) {
  const Steps multiplied = [](GraphBuilder& builder) {
    builder.weight(f32("factor", {}, {2}))
        .weight(f32("shift", {}, {-1}))
        .node("Mul", {"x", "factor"}, {"scaled"})
        .node("Add", {"scaled", "shift"}, {"fed"});
  };
  EXPECT_THAT(told(with(image_model(multiplied), object(rgb)), "normalised-twice"),
              HasSubstr("the graph applies mean [0.5] and std [0.5]"));
  const Steps batchnorm = [](GraphBuilder& builder) {
    builder.weight(filled("one", {3}, 1))
        .weight(filled("zero", {3}, 0))
        .weight(filled("mean", {3}, 0.5F))
        .weight(filled("variance", {3}, 0.25F))
        .node("BatchNormalization", {"x", "one", "zero", "mean", "variance"}, {"fed"},
              {float_attribute("epsilon", 0)});
  };
  EXPECT_THAT(told(with(image_model(batchnorm), object(rgb)), "normalised-twice"),
              HasSubstr("the graph applies mean [0.5, 0.5, 0.5] and std [0.5, 0.5, 0.5]"));
}

TEST(PreprocessingCheck, never_normalising_is_a_note) {
  const Findings found = with(image_model(nothing), "{}");
  EXPECT_THAT(ids_of(found), ElementsAre("never-normalised"));
  EXPECT_EQ(found[0].severity, Severity::note);
}

TEST(PreprocessingCheck, dividing_by_255_twice_is_found) {
  EXPECT_EQ(told(with(image_model(divided), object(rgb)), "value-range"),
            "node_1: both the graph and the preprocessing divide by 255");
  EXPECT_EQ(told(with(image_model(divided), "{\"rescale_factor\": 1}"), "value-range"), "none");
}

TEST(PreprocessingCheck, constants_of_the_other_range_are_found) {
  const Model bytes = image_model(normalised({123.7F, 116.3F, 103.5F}, {58.4F, 57.1F, 57.4F}));
  EXPECT_THAT(told(with(bytes, "{}"), "value-range"), HasSubstr("which is of [0,255]"));
  const Model unit = image_model(normalised({0.485F, 0.456F, 0.406F}, {0.229F, 0.224F, 0.225F}));
  EXPECT_THAT(told(with(unit, "{\"rescale_factor\": 1}"), "value-range"),
              HasSubstr("which is of [0,1], and the preprocessing gives [0,255]"));
  EXPECT_THAT(
      told(with(image_model(nothing), object(rgb, ", \"rescale_factor\": 1")), "value-range"),
      HasSubstr("is of [0,1], and its values stay in [0,255]"));
  EXPECT_THAT(told(with(image_model(nothing), "{\"mean\": 127.5, \"std\": 127.5}"), "value-range"),
              HasSubstr("is of [0,255], and it rescales to [0,1]"));
}

TEST(PreprocessingCheck, channels_in_reverse_order_are_found) {
  EXPECT_THAT(told(with(image_model(nothing), object(bgr)), "channel-order"),
              HasSubstr("in the order BGR, and the preprocessing gives RGB"));
  const std::string reversed = ", \"channel_order\": \"bgr\"";
  EXPECT_THAT(told(with(image_model(nothing), object(rgb, reversed)), "channel-order"),
              HasSubstr("in the order RGB, and the preprocessing gives BGR"));
  EXPECT_THAT(with(image_model(nothing), object(bgr, reversed)), IsEmpty());
  const Model graph = image_model(normalised({0.406F, 0.456F, 0.485F}, {0.225F, 0.224F, 0.229F}));
  EXPECT_THAT(told(with(graph, "{}"), "channel-order"), HasSubstr("of the graph"));
}

TEST(PreprocessingCheck, reversing_the_channels_twice_is_found) {
  const Steps reversed = [](GraphBuilder& builder) {
    builder.weight(i64("order", {2, 1, 0}))
        .node("Gather", {"x", "order"}, {"fed"}, {int_attribute("axis", 1)});
  };
  EXPECT_THAT(told(with(image_model(reversed), object(rgb, ", \"channel_order\": \"bgr\"")),
                   "channel-order"),
              HasSubstr("both the graph and the preprocessing reverse"));
}

TEST(PreprocessingCheck, another_layout_is_found) {
  EXPECT_EQ(told(with(image_model(nothing), object(rgb, ", \"layout\": \"nhwc\"")), "image-layout"),
            "x: the model takes NCHW, the preprocessing gives NHWC");
  EXPECT_THAT(with(image_model(nothing), object(rgb, ", \"layout\": \"nchw\"")), IsEmpty());
}

TEST(PreprocessingCheck, another_size_is_found) {
  const auto cropped = [](int size) {
    return object(rgb, fmt::format(", \"center_crop\": {{\"height\": {0}, \"width\": {0}}}", size));
  };
  EXPECT_EQ(told(with(image_model(nothing), cropped(9)), "image-size"),
            "x: the preprocessing gives 9x9 (height x width), the model takes 8x8");
  EXPECT_THAT(with(image_model(nothing), cropped(8)), IsEmpty());
  const Model grey = image_model(nothing, {{-1, "batch"}, {1, ""}, {8, ""}, {8, ""}});
  EXPECT_EQ(told(with(grey, object(rgb)), "image-size"),
            "x: the model takes 1 channels, mean or std has 3");
}

TEST(PreprocessingCheck, the_files_beside_the_model_are_used) {
  const TemporaryDirectory folder;
  image_model(nothing).save(folder / "m.onnx");
  std::ofstream(folder / "m.json")
      << R"({"inputs": [{"name": "x", "shape": ["batch", 8, 8, 3]}], "outputs": []})";
  EXPECT_EQ(told(check(folder / "m.onnx").findings, "image-layout"),
            "x: the model takes NCHW, the sidecar gives NHWC");
  std::ofstream(folder / "m.json") << "{}";
  std::ofstream(folder / "preprocessor_config.json")
      << R"({"do_rescale": true, "image_mean": [127.5], "image_std": [127.5], "do_normalize": true})";
  EXPECT_THAT(told(check(folder / "m.onnx").findings, "value-range"),
              HasSubstr("is of [0,255], and it rescales to [0,1]"));
}

TEST(PreprocessingCheck, a_file_that_cannot_be_read_is_a_finding_unless_it_was_named) {
  const TemporaryDirectory folder;
  image_model(nothing).save(folder / "m.onnx");
  std::ofstream(folder / "preprocessor_config.json") << "{\"do_thumbnail\": true, \"size\": 8}";
  EXPECT_THAT(told(check(folder / "m.onnx").findings, "unreadable-preprocessing"),
              HasSubstr("do_thumbnail"));
  EXPECT_THAT(failure_of([&] {
                check(folder / "m.onnx", {.preprocessing = folder / "preprocessor_config.json"});
              }),
              HasSubstr("do_thumbnail"));
}

TEST(PreprocessingCheck, models_without_images_have_no_preprocessing) {
  const Model model = GraphBuilder()
                          .input("x", DType::f32, {{2, ""}, {3, ""}})
                          .node("Relu", {"x"}, {"y"})
                          .output("y")
                          .model();
  EXPECT_THAT(with(model, object(rgb)), IsEmpty());
}

}  // namespace
}  // namespace vernier
