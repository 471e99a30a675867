#include "vernier/data/preprocess.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/failure.h"
#include "tests/oracle/blobs.h"
#include "tests/temporary_directory.h"
#include "vernier/data/preprocessing_config.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using oracle::text_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TensorSpec spec(std::vector<std::int64_t> dims, DType dtype = DType::f32) {
  TensorSpec spec{"pixels", dtype, {}};
  for (const std::int64_t dim : dims) spec.shape.push_back({dim, ""});
  return spec;
}

Image counting(int width, int height, int channels = 3) {
  Image image = make_image(width, height, channels);
  for (std::size_t i = 0; i < image.pixels.size(); ++i)
    image.pixels[i] = static_cast<std::uint8_t>(i);
  return image;
}

TEST(Preprocess, every_step_gives_the_floats_of_the_image_processors) {
  auto python = oracle::python_with("torchvision, PIL");  // has more cases
  if (!python) python = oracle::python_with("numpy, PIL");
  if (!python) GTEST_SKIP() << "no Python with numpy and Pillow";
  const auto blobs = oracle::script_blobs(*python, VERNIER_ORACLES "/preprocess_cases.py");
  ASSERT_GE(blobs.size(), 6u * 100);
  const TemporaryDirectory folder;
  for (std::size_t i = 0; i + 6 <= blobs.size(); i += 6) {
    const auto path = folder / "config.json";
    std::ofstream(path) << text_of(blobs[i + 1]);
    Image image;
    std::istringstream(text_of(blobs[i + 2])) >> image.width >> image.height;
    image.pixels = oracle::samples_of(blobs[i + 3]);
    std::int64_t height = 0, width = 0;
    std::istringstream(text_of(blobs[i + 4])) >> height >> width;
    const Tensor tensor =
        preprocess(image, read_preprocessing(path), image_input(spec({-1, 3, -1, -1})));
    EXPECT_EQ(tensor.shape, (Shape{1, 3, height, width})) << text_of(blobs[i]);
    EXPECT_TRUE(tensor.bytes == blobs[i + 5]) << text_of(blobs[i]) << text_of(blobs[i + 1]);
  }
}

TEST(Preprocess, layouts_hold_the_same_values_in_another_order) {
  const Preprocessing none{.rescale_factor = 1};
  const Image image = counting(2, 2);
  const Tensor first = preprocess(image, none, image_input(spec({1, 3, 2, 2})));
  const Tensor last = preprocess(image, none, image_input(spec({1, 2, 2, 3})));
  EXPECT_EQ(to_f64(first), (std::vector<double>{0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11}));
  EXPECT_EQ(to_f64(last), (std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(last.shape, (Shape{1, 2, 2, 3}));
}

TEST(Preprocess, a_padded_image_keeps_its_corner_in_either_layout) {
  const Preprocessing padded{.rescale_factor = 1, .pad = true};
  const Image image = counting(1, 1);
  const Tensor first = preprocess(image, padded, image_input(spec({1, 3, 2, 2})));
  const Tensor last = preprocess(image, padded, image_input(spec({1, 2, 2, 3})));
  EXPECT_EQ(to_f64(first), (std::vector<double>{0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0}));
  EXPECT_EQ(to_f64(last), (std::vector<double>{0, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(Preprocess, colours_become_grey_for_a_model_of_one_channel) {
  Image red = make_image(1, 1, 3);
  red.pixels = {255, 0, 0};
  const Tensor tensor = preprocess(red, {.rescale_factor = 1}, image_input(spec({1, 1, 1, 1})));
  EXPECT_EQ(to_f64(tensor), std::vector<double>{76});
}

TEST(Preprocess, integer_inputs_take_the_pixels_as_they_are) {
  const Preprocessing normalising{.mean = {0.5}, .std = {0.5}};
  const ImageInput input = image_input(spec({1, 1, 1, 3}, DType::u8));
  const Tensor tensor = preprocess(counting(3, 1, 1), normalising, input);
  EXPECT_EQ(tensor.dtype, DType::u8);
  EXPECT_EQ(to_f64(tensor), (std::vector<double>{0, 1, 2}));
}

TEST(Preprocess, half_precision_is_rounded_from_single) {
  const ImageInput half = image_input(spec({1, 1, 1, 3}, DType::f16));
  const ImageInput single = image_input(spec({1, 1, 1, 3}));
  const Image image = counting(3, 1, 1);
  EXPECT_EQ(preprocess(image, {}, half), convert(preprocess(image, {}, single), DType::f16));
}

TEST(Preprocess, one_mean_serves_all_channels_and_another_count_is_an_error) {
  const ImageInput input = image_input(spec({1, 3, 1, 1}));
  const Tensor tensor = preprocess(counting(1, 1), {.rescale_factor = 1, .mean = {1}}, input);
  EXPECT_EQ(to_f64(tensor), (std::vector<double>{-1, 0, 1}));
  EXPECT_THAT(failure_of([&] {
                preprocess(counting(1, 1), {.mean = {1, 2}}, input);
              }),
              HasSubstr("the model takes 3 channels, mean or std has 2"));
}

TEST(Preprocess, a_result_of_the_wrong_size_is_told_with_the_remedy) {
  const ImageInput input = image_input(spec({1, 3, 224, -1}));
  EXPECT_THAT(failure_of([&] { preprocess(counting(5, 4), {}, input); }),
              HasSubstr("pixels: an image of 4x5 (height x width), model expects 224x?; give a "
                        "preprocessing or a size to resize to"));
  const Preprocessing other{.resize = ResizeRule{.exact = Size{32, 32}}};
  EXPECT_THAT(failure_of([&] { preprocess(counting(5, 4), other, input); }),
              HasSubstr("32x32 (height x width), model expects 224x?; the preprocessing is for"));
  const Preprocessing small{.pad = true, .pad_to = Size{3, 3}};
  EXPECT_THAT(failure_of([&] { preprocess(counting(5, 4), small, input); }),
              HasSubstr("4x5 (height x width) cannot be padded to 3x3"));
}

TEST(Preprocess, the_axis_of_the_channels_is_read_off_the_spec) {
  EXPECT_EQ(image_input(spec({8, 3, 32, 64})),
            (ImageInput{"pixels", DType::f32, Layout::nchw, 3, 8, 32, 64}));
  EXPECT_EQ(image_input(spec({-1, 32, 64, 1})),
            (ImageInput{"pixels", DType::f32, Layout::nhwc, 1, -1, 32, 64}));
  EXPECT_EQ(image_input(spec({-1, -1, -1, -1})),
            (ImageInput{"pixels", DType::f32, Layout::nchw, 3, -1, -1, -1}));
  EXPECT_EQ(image_input(spec({1, -1, -1, 3})).layout, Layout::nhwc);
}

TEST(Preprocess, an_input_of_unknown_rank_takes_images_as_they_are) {
  const ImageInput input = image_input({"pixels", DType::f32, {}, false});
  for (const int channels : {1, 3})
    EXPECT_EQ(preprocess(counting(4, 2, channels), {}, input).shape, (Shape{1, channels, 2, 4}));
}

TEST(Preprocess, an_input_that_holds_no_images_is_an_error) {
  for (const auto& dims : std::vector<std::vector<std::int64_t>>{{1, 768}, {1, 4, 32, 32}, {}})
    EXPECT_THAT(failure_of([&] { image_input(spec(dims)); }),
                HasSubstr("[preprocess] pixels: expected images"));
}

TEST(Preprocess, the_longer_edge_is_capped) {
  const ResizeRule rule{.shortest_edge = 800, .longest_edge = 1333};
  EXPECT_EQ(resized_size(rule, {640, 480}), (Size{1066, 800}));
  EXPECT_EQ(resized_size(rule, {480, 1920}), (Size{333, 1333}));
}

TEST(Preprocess, a_map_of_labels_moves_with_its_image) {
  Image map = make_image(4, 2, 1);
  map.pixels = {1, 2, 3, 4, 5, 6, 7, 8};
  const ImageInput any = image_input(spec({1, 3, -1, -1}));
  const auto labels = [&](const Preprocessing& preprocessing) {
    const Tensor moved = preprocess_label_map(map, preprocessing, any);
    const auto values = elements<std::int64_t>(moved.view());
    return std::vector<std::int64_t>(values.begin(), values.end());
  };
  EXPECT_THAT(labels({}), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(labels({.resize = ResizeRule{.exact = Size{2, 1}, .filter = Filter::bicubic}}),
              ElementsAre(6, 8));
  EXPECT_THAT(labels({.center_crop = CropRule{Size{2, 2}}}), ElementsAre(2, 3, 6, 7));
  EXPECT_THAT(labels({.center_crop = CropRule{Size{2, 4}}}),
              ElementsAre(-1, -1, 2, 3, 6, 7, -1, -1));
  EXPECT_THAT(labels({.pad = true, .pad_to = Size{5, 2}}),
              ElementsAre(1, 2, 3, 4, -1, 5, 6, 7, 8, -1));
}

}  // namespace
}  // namespace vernier
