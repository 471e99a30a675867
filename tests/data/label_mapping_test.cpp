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

std::string mapping_failure(const std::string& json) {
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
  EXPECT_THAT(mapping_failure(R"({"id2label": {"0": "horse"}})"), HasSubstr("none of its names"));
}

TEST(LabelMapping, a_name_that_several_labels_have_is_told) {
  const std::string config =
      R"({"id2label": {"134": "crane", "517": "crane, derrick", "2": "dog, cat", "3": "cat"}})";
  EXPECT_EQ(parse(config, {"crane"}), (LabelMapping{{0, 134}}));  // its full name
  EXPECT_EQ(parse(config, {"cat"}), (LabelMapping{{0, 3}}));
  EXPECT_THAT(mapping_failure(R"({"id2label": {"1": "cat, tom", "2": "cat, puss"}})"),
              HasSubstr("'cat' may be label 1 or 2"));
}

TEST(LabelMapping, a_config_beside_a_model_is_found_if_it_names_every_class) {
  const TemporaryDirectory folder;
  const auto found = [&](const std::vector<std::string>& classes) {
    return find_label_names(folder / "model.onnx", classes).has_value();
  };
  EXPECT_FALSE(found({"cat"}));
  write_text(folder / "config.json", R"({"id2label": {"0": "cat", "1": "dog"}})");
  EXPECT_TRUE(found({"dog", "cat"}));
  EXPECT_FALSE(found({"dog", "horse"}));
  EXPECT_FALSE(found({}));
  write_text(folder / "config.json", R"({"hidden_size": 8})");
  EXPECT_FALSE(found({"cat"}));
  write_text(folder / "config.json", "not JSON");
  EXPECT_FALSE(found({"cat"}));
}

TEST(LabelMapping, what_is_malformed_is_told) {
  EXPECT_THAT(mapping_failure("[1]"), HasSubstr("expected a JSON object"));
  EXPECT_THAT(mapping_failure("{"), HasSubstr("expected a JSON object"));
  EXPECT_THAT(mapping_failure(R"({"bird": 1})"), HasSubstr("'bird' is neither a class"));
  EXPECT_THAT(mapping_failure(R"({"cat": -1})"), HasSubstr("'cat' is mapped to -1"));
  EXPECT_THAT(mapping_failure(R"({"cat": 1.5})"), HasSubstr("'cat' is mapped to 1.5"));
  EXPECT_THAT(mapping_failure(R"({"-2": 1})"), HasSubstr("'-2' is neither"));
}

TEST(LabelMapping, a_missing_file_is_an_error) {
  EXPECT_THAT(failure_of([] { read_label_mapping("/nowhere.json", {}); }),
              HasSubstr("[labels] /nowhere.json"));
}

}  // namespace
}  // namespace vernier
