#include "vernier/data/preprocessing_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/failure.h"
#include "tests/temporary_directory.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using ::testing::HasSubstr;

Preprocessing parse_config(const std::string& json) {
  const TemporaryDirectory folder;
  std::ofstream(folder / "config.json") << json;
  return read_preprocessing(folder / "config.json");
}

std::string parse_failure(const std::string& json) {
  return failure_of([&] { parse_config(json); });
}

ResizeRule to_edge(int edge, Filter filter) { return {.shortest_edge = edge, .filter = filter}; }
ResizeRule to_size(int edge, Filter filter) {
  return {.exact = Size{edge, edge}, .filter = filter};
}

TEST(PreprocessingConfig, an_old_vit_stretches_to_its_size_with_bilinear) {
  const Preprocessing result = parse_config(
      R"({"do_normalize": true, "do_resize": true, "image_mean": [0.5, 0.5, 0.5],
          "image_std": [0.5, 0.5, 0.5], "size": 224})");
  EXPECT_EQ(result.resize, to_size(224, Filter::bilinear));
  EXPECT_EQ(result.center_crop, std::nullopt);
  EXPECT_EQ(result.rescale_factor, 1.0 / 255);
  EXPECT_EQ(result.mean, (std::vector<double>{0.5, 0.5, 0.5}));
}

TEST(PreprocessingConfig, one_number_is_an_edge_or_a_square_as_the_family_has_it) {
  const auto resize_of = [](const std::string& type) {
    return parse_config(R"({"do_resize": true, "size": 256, "feature_extractor_type": ")" + type +
                        "\"}")
        .resize;
  };
  EXPECT_EQ(resize_of("DeiTFeatureExtractor"), to_size(256, Filter::bicubic));
  EXPECT_EQ(resize_of("CLIPFeatureExtractor"), to_edge(256, Filter::bicubic));
  EXPECT_EQ(resize_of("MobileNetV2FeatureExtractor"), to_edge(256, Filter::bilinear));
  EXPECT_EQ(resize_of("SomethingElse"), to_size(256, Filter::bilinear));
}

TEST(PreprocessingConfig, dinov2_resizes_an_edge_and_crops) {
  const Preprocessing result = parse_config(
      R"({"crop_size": {"height": 224, "width": 200}, "do_center_crop": true, "do_convert_rgb": true,
          "do_normalize": true, "do_rescale": true, "do_resize": true,
          "image_mean": [0.485, 0.456, 0.406], "image_processor_type": "BitImageProcessor",
          "image_std": [0.229, 0.224, 0.225], "resample": 3, "rescale_factor": 0.00392156862745098,
          "size": {"shortest_edge": 256}})");
  EXPECT_EQ(result.resize, to_edge(256, Filter::bicubic));
  EXPECT_EQ(result.center_crop, (CropRule{{200, 224}, CropOrigin::floor}));
  EXPECT_EQ(result.rescale_factor, 0.00392156862745098);
  EXPECT_EQ(result.std, (std::vector<double>{0.229, 0.224, 0.225}));
}

TEST(PreprocessingConfig, convnext_resizes_to_more_than_it_crops_below_384) {
  const std::string head =
      R"({"image_processor_type": "ConvNextImageProcessor", "do_resize": true,)";
  const Preprocessing small =
      parse_config(head + R"("crop_pct": 0.875, "size": {"shortest_edge": 224}})");
  EXPECT_EQ(small.resize, to_edge(256, Filter::bicubic));
  EXPECT_EQ(small.center_crop, CropRule{(Size{224, 224})});
  const Preprocessing silent =
      parse_config(head + R"("crop_pct": null, "size": 224, "resample": 2})");
  EXPECT_EQ(silent.resize, to_edge(256, Filter::bilinear));
  const Preprocessing large =
      parse_config(head + R"("crop_pct": 0.875, "size": {"shortest_edge": 384}})");
  EXPECT_EQ(large.resize, to_size(384, Filter::bicubic));
  EXPECT_EQ(large.center_crop, std::nullopt);
}

TEST(PreprocessingConfig, poolformer_crops_as_its_own_step_says) {
  const std::string tail = R"("crop_pct": 0.9, "do_resize": true, "do_center_crop": true,
                              "crop_size": {"height": 224, "width": 224}, "resample": 3})";
  EXPECT_EQ(parse_config(R"({"size": {"shortest_edge": 224},)" + tail).resize,
            to_edge(248, Filter::bicubic));
  EXPECT_EQ(parse_config(R"({"size": {"height": 224, "width": 224},)" + tail).resize,
            to_edge(248, Filter::bicubic));
  EXPECT_EQ(parse_config(R"({"size": {"height": 90, "width": 180},)" + tail).resize,
            (ResizeRule{.exact = Size{200, 100}, .filter = Filter::bicubic}));
}

TEST(PreprocessingConfig, levit_enlarges_its_edge) {
  EXPECT_EQ(parse_config(R"({"image_processor_type": "LevitImageProcessor", "do_resize": true,
                      "size": {"shortest_edge": 224}})")
                .resize,
            to_edge(256, Filter::bicubic));
}

TEST(PreprocessingConfig, every_resample_number_is_pillows) {
  const Filter filters[] = {Filter::nearest, Filter::lanczos, Filter::bilinear,
                            Filter::bicubic, Filter::box,     Filter::hamming};
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(parse_config(R"({"size": 8, "resample": )" + std::to_string(i) + "}").resize->filter,
              filters[i]);
}

TEST(PreprocessingConfig, steps_can_be_switched_off) {
  const Preprocessing result = parse_config(
      R"({"do_resize": false, "size": 224, "do_center_crop": false, "crop_size": 224,
          "do_rescale": false, "rescale_factor": 0.5, "do_normalize": false, "image_mean": [0.5]})");
  EXPECT_EQ(result, Preprocessing{.rescale_factor = 1});
}

TEST(PreprocessingConfig, detection_models_cap_the_longer_edge_and_pad) {
  const Preprocessing result = parse_config(
      R"({"do_resize": true, "size": {"shortest_edge": 800, "longest_edge": 1333}, "do_pad": true})");
  EXPECT_EQ(result.resize, (ResizeRule{.shortest_edge = 800, .longest_edge = 1333}));
  EXPECT_TRUE(result.pad);
  EXPECT_EQ(
      parse_config(R"({"size": 8, "do_pad": true, "pad_size": {"height": 9, "width": 7}})").pad_to,
      (Size{7, 9}));
}

TEST(PreprocessingConfig, a_sidecar_says_it_in_our_own_words) {
  const Preprocessing result = parse_config(
      R"({"inputs": ["x"], "preprocessing": {"resize": {"shortest_edge": 232},
          "interpolation": "bicubic", "center_crop": {"height": 224, "width": 192},
          "crop_origin": "round", "rescale_factor": 1, "mean": [1, 2, 3], "std": 4,
          "channel_order": "bgr"}})");
  EXPECT_EQ(result, (Preprocessing{.resize = to_edge(232, Filter::bicubic),
                                   .center_crop = CropRule{{192, 224}, CropOrigin::round},
                                   .rescale_factor = 1,
                                   .mean = {1, 2, 3},
                                   .std = {4},
                                   .reverse_channels = true}));
  EXPECT_EQ(parse_config(R"({"preprocessing": {}})"), Preprocessing{});
}

TEST(PreprocessingConfig, what_is_malformed_is_told) {
  EXPECT_THAT(parse_failure("{"), HasSubstr("config.json: not valid JSON"));
  EXPECT_THAT(parse_failure("[1]"), HasSubstr("expected an object"));
  EXPECT_THAT(parse_failure(R"({"hidden_size": 8})"), HasSubstr("expected an image processor's"));
  EXPECT_THAT(parse_failure(R"({"size": 0})"), HasSubstr("'size' must be a number of pixels"));
  EXPECT_THAT(parse_failure(R"({"size": 1e9})"), HasSubstr("'size' must be a number of pixels"));
  EXPECT_THAT(parse_failure(R"({"size": {"height": 8}})"), HasSubstr("size: 'width' must be"));
  EXPECT_THAT(parse_failure(R"({"size": {}})"), HasSubstr("expected height and width, or an edge"));
  EXPECT_THAT(parse_failure(R"({"size": {"max_height": 8}})"),
              HasSubstr("unknown key 'max_height'"));
  EXPECT_THAT(parse_failure(R"({"size": 8, "resample": 6})"),
              HasSubstr("'resample' must be 0 to 5"));
  EXPECT_THAT(parse_failure(R"({"size": 8, "crop_pct": 0})"),
              HasSubstr("'crop_pct' must be above 0"));
  EXPECT_THAT(parse_failure(R"({"do_resize": 1})"), HasSubstr("'do_resize' must be true or false"));
  EXPECT_THAT(parse_failure(R"({"do_normalize": true})"),
              HasSubstr("needs image_mean and image_std"));
  EXPECT_THAT(parse_failure(R"({"image_mean": ["a"], "image_std": 1})"),
              HasSubstr("finite numbers"));
  EXPECT_THAT(parse_failure(R"({"image_mean": 0, "image_std": [1, 0]})"), HasSubstr("has a zero"));
  EXPECT_THAT(parse_failure(R"({"size": 8, "do_thumbnail": true})"), HasSubstr("is not supported"));
}

TEST(PreprocessingConfig, a_malformed_sidecar_is_told) {
  const auto failure = [](const std::string& subgraph) {
    return parse_failure(R"({"preprocessing": )" + subgraph + "}");
  };
  EXPECT_THAT(failure("3"), HasSubstr("preprocessing: expected an object"));
  EXPECT_THAT(failure(R"({"crop": 3})"), HasSubstr("unknown key 'crop'"));
  EXPECT_THAT(failure(R"({"resize": {"shortest_edge": 9}, "interpolation": "cubic"})"),
              HasSubstr("unknown interpolation 'cubic'"));
  EXPECT_THAT(failure(R"({"center_crop": {"height": 9, "width": 9}, "crop_origin": "up"})"),
              HasSubstr("'crop_origin' must be floor or round"));
  EXPECT_THAT(failure(R"({"channel_order": "grb"})"), HasSubstr("must be rgb or bgr"));
  EXPECT_THAT(failure(R"({"channel_order": 3})"), HasSubstr("must be a string"));
}

TEST(PreprocessingConfig, a_missing_file_is_an_error) {
  EXPECT_THROW(read_preprocessing("/nowhere/config.json"), Error);
}

TEST(PreprocessingConfig, the_sidecar_is_found_before_the_processor) {
  const TemporaryDirectory folder;
  EXPECT_EQ(find_preprocessing(folder / "model.onnx"), std::nullopt);
  std::ofstream(folder / "preprocessor_config.json") << R"({"size": 8})";
  std::ofstream(folder / "model.json") << R"({"inputs": []})";
  EXPECT_EQ(find_preprocessing(folder / "model.onnx"), folder / "preprocessor_config.json");
  std::ofstream(folder / "model.json") << R"({"preprocessing": {}})";
  EXPECT_EQ(find_preprocessing(folder / "model.onnx"), folder / "model.json");
}

}  // namespace
}  // namespace vernier
