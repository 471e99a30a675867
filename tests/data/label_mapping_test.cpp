#include "vernier/data/label_mapping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/small_images.h"
#include "tests/failure.h"
#include "tests/temporary_directory.h"

namespace vernier {
namespace {

using ::testing::HasSubstr;

LabelMapping parse(const std::string& json, const std::vector<std::string>& classes = {}) {
  const TemporaryDirectory folder;
  write_text(folder / "map.json", json);
  return read_label_mapping(folder / "map.json", classes);
}

std::string failure(const std::string& json) {
  return failure_of([&] { parse(json, {"cat"}); });
}

TEST(LabelMapping, maps_names_and_numbers) {
  EXPECT_EQ(parse(R"({"cat": 281, "7": "9"})", {"dog", "cat"}), (LabelMapping{{1, 281}, {7, 9}}));
}

TEST(LabelMapping, a_class_named_by_a_number_is_that_class) {
  EXPECT_EQ(parse(R"({"3": 0})", {"8", "3"}), (LabelMapping{{1, 0}}));
}

TEST(LabelMapping, names_of_the_models_labels_map_classes_of_these_names) {
  const std::string config =
      R"({"hidden_size": 8, "id2label": {"0": "tench, Tinca tinca", "1": "tabby cat"}})";
  EXPECT_EQ(parse(config, {"tabby_cat", "horse", "Tinca tinca"}), (LabelMapping{{0, 1}, {2, 0}}));
  EXPECT_EQ(parse(R"({"0": ["n01440764", "tench"], "1": ["n01443537", "goldfish"]})",
                  {"n01443537", "n01440764"}),
            (LabelMapping{{0, 1}, {1, 0}}));
  EXPECT_THAT(failure(R"({"id2label": {"0": "horse"}})"), HasSubstr("none of its names"));
}

TEST(LabelMapping, what_is_malformed_is_told) {
  EXPECT_THAT(failure("[1]"), HasSubstr("expected a JSON object"));
  EXPECT_THAT(failure("{"), HasSubstr("expected a JSON object"));
  EXPECT_THAT(failure(R"({"bird": 1})"), HasSubstr("'bird' is neither a class"));
  EXPECT_THAT(failure(R"({"cat": -1})"), HasSubstr("'cat' is mapped to -1"));
  EXPECT_THAT(failure(R"({"cat": 1.5})"), HasSubstr("'cat' is mapped to 1.5"));
  EXPECT_THAT(failure(R"({"-2": 1})"), HasSubstr("'-2' is neither"));
}

TEST(LabelMapping, a_missing_file_is_an_error) {
  EXPECT_THAT(failure_of([] { read_label_mapping("/nowhere.json", {}); }),
              HasSubstr("[labels] /nowhere.json"));
}

}  // namespace
}  // namespace vernier
