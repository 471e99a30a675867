#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <limits>

#include "tests/data/digits.h"
#include "tests/failure.h"
#include "tests/temporary_directory.h"
#include "vernier/data/arrow_file.h"
#include "vernier/data/dataset.h"
#include "vernier/data/read_file.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

const std::string arrow = VERNIER_FIXTURES "/arrow/";

Example example(Dataset& dataset, std::int64_t position) {
  return dataset.read(std::span(&position, 1)).at(0);
}

TEST(ArrowDataset, a_saved_split_has_its_images_labels_and_class_names) {
  const auto dataset = open_dataset(arrow + "digits", {.split = "test"});
  const LabelledDigits digits;
  ASSERT_EQ(dataset->size(), 6);
  ASSERT_EQ(dataset->classes().size(), 10u);
  EXPECT_EQ(dataset->classes()[3], "three");
  for (const std::int64_t position : {5, 0, 3}) {
    const Example read = example(*dataset, position);
    EXPECT_EQ(read.label, digits.label(position));
    const Image image = decode_image(std::get<EncodedImage>(read.content), read.id);
    const std::string pixels(image.pixels.begin(), image.pixels.end());
    EXPECT_EQ(pixels, digits.image(position));
  }
  EXPECT_EQ(example(*dataset, 4).id, "data-00001-of-00002.arrow row 1");
}

TEST(ArrowDataset, columns_can_be_named) {
  const auto texts = open_dataset(arrow + "digits/test", {.label_column = "word"});
  const LabelledDigits digits;
  EXPECT_EQ(texts->classes()[*example(*texts, 0).label],
            open_dataset(arrow + "digits/test")->classes()[digits.label(0)]);
  const auto arrays = open_dataset(arrow + "digits/train", {.image_column = "pixels"});
  const Image image = std::get<Image>(example(*arrays, 1).content);
  EXPECT_EQ(std::string(image.pixels.begin(), image.pixels.end()), digits.image(7));
  EXPECT_THAT(failure_of([] { open_dataset(arrow + "digits/test", {.image_column = "digit"}); }),
              HasSubstr("no such column of images: digit; it has picture struct, digit int64, word "
                        "string, pixels list<list<uint8>>"));
}

TEST(ArrowDataset, a_split_has_to_be_chosen_and_be_there) {
  EXPECT_THAT(failure_of([] { open_dataset(arrow + "digits"); }),
              HasSubstr("has the splits test, train; choose one with --split"));
  EXPECT_THAT(failure_of([] { open_dataset(arrow + "digits", {.split = "dev"}); }),
              HasSubstr("has no split 'dev'; there is test, train"));
}

TEST(ArrowDataset, lists_of_numbers_are_inputs_and_targets) {
  const auto dataset = open_dataset(arrow + "tokens");
  const Example read = example(*dataset, 1);
  const Tensor& ids = std::get<Tensor>(read.content);
  EXPECT_THAT(ids.shape, ElementsAre(3));
  EXPECT_THAT(elements<std::int32_t>(ids.view()), ElementsAre(8, 9, 10));
  EXPECT_THAT(elements<std::int64_t>(std::get<Tensor>(read.target).view()), ElementsAre(9, 10, 0));
}

TEST(ArrowDataset, the_file_format_and_nulls_are_read_and_other_types_passed_over) {
  const auto dataset = open_dataset(arrow + "types.arrow");
  EXPECT_THAT(dataset->classes(), ElementsAre("cat", "dog"));
  EXPECT_EQ(example(*dataset, 0).label, 1);
  EXPECT_TRUE(std::holds_alternative<EncodedImage>(example(*dataset, 0).content));
  EXPECT_EQ(example(*dataset, 1).label, std::nullopt);
  EXPECT_TRUE(std::holds_alternative<Unreadable>(example(*dataset, 1).content));
  EXPECT_EQ(example(*dataset, 2).label, 0);
  const auto boxes = open_dataset(arrow + "types.arrow", {.image_column = "box"});
  EXPECT_THAT(elements<float>(std::get<Tensor>(example(*boxes, 2).content).view()),
              ElementsAre(3, 4));
}

TEST(ArrowDataset, files_that_state_json_does_not_list_are_left_out) {
  const TemporaryDirectory folder;
  fs::copy(arrow + "digits/test", folder / "saved");
  fs::copy(folder / "saved/data-00000-of-00002.arrow", folder / "saved/cache-1.arrow");
  EXPECT_EQ(open_dataset(folder / "saved")->size(), 6);
  std::ofstream(folder / "saved/state.json")
      << R"({"_data_files": [], "_indices_files": [{"filename": "i.arrow"}]})";
  EXPECT_THAT(failure_of([&] { open_dataset(folder / "saved"); }), HasSubstr("flatten_indices()"));
  std::ofstream(folder / "saved/state.json") << "{}";
  EXPECT_THAT(failure_of([&] { open_dataset(folder / "saved"); }), HasSubstr("save"));
}

// Reads all that a damaged copy still has; only an Error may come of it.
void read_copy(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  try {
    const auto dataset = open_dataset(path);
    for (std::int64_t i = 0; i < std::min<std::int64_t>(dataset->size(), 10); ++i)
      example(*dataset, i);
  } catch (const Error&) {
  }
}

TEST(ArrowArray, ends_that_are_none_are_errors) {
  using Limits = std::numeric_limits<std::int64_t>;
  const ArrowField text{.name = "t", .kind = ArrowField::Kind::text, .wide = true};
  for (const std::array<std::int64_t, 2> ends :
       {std::array{Limits::min(), Limits::max()}, {0, 9}, {2, 1}, {-1, 1}}) {
    const ArrowArray array{.field = &text,
                           .length = 1,
                           .validity = {},
                           .offsets = std::as_bytes(std::span(ends)),
                           .data = std::as_bytes(std::span("12")),
                           .children = {}};
    EXPECT_THROW(array.bytes(0), Error);
  }
}

TEST(ArrowDataset, damaged_files_are_errors) {
  const TemporaryDirectory folder;
  const std::string whole(as_text(read_file(arrow + "types.arrow", "test")));
  for (std::size_t size = 0; size < whole.size(); size += 31)
    read_copy(folder / "cut.arrow", whole.substr(0, size));
  for (std::size_t i = 0; i < whole.size(); i += 5)
    for (const char value : {'\0', '\x7f', '\xff'}) {
      std::string changed = whole;
      changed[i] = value;
      read_copy(folder / "changed.arrow", changed);
    }
  std::ofstream(folder / "text.arrow") << "this is no Arrow file, but a text";
  EXPECT_THAT(failure_of([&] { open_dataset(folder / "text.arrow"); }),
              HasSubstr("text.arrow: damaged, or no Arrow file"));
}

}  // namespace
}  // namespace vernier
