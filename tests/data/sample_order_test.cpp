#include "vernier/data/sample_order.h"

#include <gtest/gtest.h>

#include "tests/temporary_directory.h"
#include "vernier/error.h"
#include "vernier/tensor/npz.h"

namespace vernier {
namespace {

constexpr SampleOrder shuffled{
    .examples = 512, .first = 3, .batch = 4, .shuffled = true, .seed = 7};

TEST(SampleOrder, is_read_back_as_it_was_written) {
  for (const SampleOrder& order : {shuffled, SampleOrder{.examples = 9}})
    EXPECT_EQ(parse_order(format_order(order)), order);
  EXPECT_EQ(describe_order(shuffled), "shuffled with seed 7");
  EXPECT_EQ(describe_order({}), "in the dataset's order");
}

TEST(SampleOrder, another_comment_says_nothing) {
  for (const char* comment :
       {"", "made by hand", "{}", "[1]", R"({"vernier_samples": {"batch": 1}})",
        R"({"vernier_samples": {"examples": "many"}})"})
    EXPECT_EQ(parse_order(comment), std::nullopt) << comment;
}

TEST(SampleOrder, travels_with_an_archive_or_a_folder_of_them) {
  const TemporaryDirectory folder;
  const auto write = [&](const std::string& name, const std::string& comment) {
    NpzWriter writer(folder / name);
    writer.set_comment(comment);
    writer.add("x", make_tensor("x", DType::f32, {2}));
    writer.finish();
  };
  write("000000.npz", format_order(shuffled));
  write("000001.npz", "");
  EXPECT_EQ(recorded_order(folder / "000000.npz"), shuffled);
  EXPECT_EQ(recorded_order(folder / "000001.npz"), std::nullopt);
  EXPECT_EQ(recorded_order(folder.path()), shuffled);
  require_recorded_order(shuffled, folder / "000000.npz");
  require_recorded_order({}, folder / "000001.npz");
  EXPECT_THROW(require_recorded_order({.examples = 512}, folder / "000000.npz"), Error);
  EXPECT_EQ(NpzReader(folder / "000000.npz").read("x").shape, Shape{2});
}

}  // namespace
}  // namespace vernier
