#include "vernier/data/dataset_spec.h"

#include <gtest/gtest.h>

#include "tests/data/small_images.h"
#include "tests/temporary_directory.h"
#include "vernier/error.h"
#include "vernier/report/warning.h"

namespace vernier {
namespace {

TEST(DatasetSpec, a_size_is_an_edge_or_height_and_width) {
  EXPECT_EQ(parse_size("224"), (Size{.width = 224, .height = 224}));
  EXPECT_EQ(parse_size("384x512"), (Size{.width = 512, .height = 384}));
  for (const char* text : {"", "0", "x", "224x", "big", "70000"})
    EXPECT_FALSE(parse_size(text)) << text;
}

TEST(DatasetSpec, descriptions_have_no_folders) {
  const TemporaryDirectory folder;
  std::filesystem::create_directory(folder / "digits");
  DatasetSpec spec{.name = folder / "digits/", .options = {.split = "test"}, .shuffle = true};
  EXPECT_EQ(describe_dataset(spec, 7), "digits, test split, shuffled with seed 7");
  EXPECT_EQ(describe_dataset({.name = "timm/mini-imagenet"}, 42), "timm/mini-imagenet");
}

TEST(DatasetSpec, changes_go_over_what_the_file_says) {
  const TemporaryDirectory folder;
  write_text(folder / "preprocessor_config.json",
             R"({"do_resize": true, "size": {"height": 8, "width": 8}, "resample": 3,
                 "do_rescale": true, "rescale_factor": 0.5, "do_normalize": false})");
  const std::filesystem::path model = folder / "model.onnx";
  EXPECT_EQ(make_preprocessing({}, model).resize->exact, (Size{8, 8}));
  const Preprocessing changed = make_preprocessing(
      {.image_size = Size{4, 4}, .rescale_factor = 1.0, .mean = {2}, .std = {3}}, model);
  EXPECT_EQ(changed.resize->exact, (Size{4, 4}));
  EXPECT_EQ(changed.resize->filter, Filter::bicubic);
  EXPECT_EQ(changed.rescale_factor, 1.0);
  EXPECT_EQ(changed.mean, std::vector<double>{2});
  EXPECT_EQ(changed.std, std::vector<double>{3});
}

TEST(DatasetSpec, changes_that_cannot_be_are_refused) {
  EXPECT_THROW(make_preprocessing({.filter = Filter::box}, "model.onnx"), Error);
  EXPECT_THROW(make_preprocessing({.std = {1, 0, 1}}, "model.onnx"), Error);
}

TEST(DatasetSpec, preprocessing_is_described_in_its_order) {
  EXPECT_EQ(describe_preprocessing({.rescale_factor = 1}), "none");
  EXPECT_EQ(
      describe_preprocessing({.resize = ResizeRule{.shortest_edge = 256},
                              .center_crop = CropRule{{.width = 224, .height = 224}},
                              .rescale_factor = 0.5,
                              .mean = {0.25, 0.5},
                              .std = {2}}),
      "resized to a shorter edge of 256 (bilinear), cropped to 224x224, times 0.5, minus 0.25 "
      "0.5, over 2");
}

TEST(DatasetSpec, each_kind_of_example_that_was_left_out_is_told) {
  EXPECT_TRUE(dataset_warnings({.selected = 3, .used = 3}).empty());
  EXPECT_EQ(
      warning_texts(dataset_warnings(
          {.selected = 5, .unreadable = 1, .without_label = 2, .problems = {"a.png: empty"}})),
      (std::vector<std::string>{
          "[dataset] 1 of 5 examples left out: their images cannot be read",
          "[dataset] 2 of 5 examples left out: they have no label; the first: a.png: empty"}));
}

}  // namespace
}  // namespace vernier
