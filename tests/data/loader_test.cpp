#include "vernier/data/loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/arrays.h"
#include "tests/data/counting_dataset.h"
#include "tests/failure.h"
#include "tests/temporary_directory.h"
#include "vernier/data/dataset.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const Preprocessing as_is{.rescale_factor = 1};

TensorSpec pixels(std::int64_t batch = -1, std::int64_t edge = 1) {
  return {"pixels", DType::f32, {{batch, "N"}, {1, ""}, {edge, ""}, {edge, ""}}};
}

std::vector<Batch> load(Dataset& dataset, const TensorSpec& input, LoaderOptions options,
                        DatasetReport* report = nullptr) {
  options.preprocessing = as_is;
  Loader loader(dataset, select_positions(dataset.size(), {}), input, std::move(options));
  std::vector<Batch> batches;
  while (auto batch = loader.next()) batches.push_back(std::move(*batch));
  if (report) *report = loader.report();
  return batches;
}

TEST(Loader, batches_hold_rows_ids_and_labels_in_order) {
  CountingDataset dataset(5);
  const auto batches = load(dataset, pixels(), {.batch = 2});
  ASSERT_EQ(batches.size(), 3u);
  EXPECT_EQ(batches[1].input.shape, (Shape{2, 1, 1, 1}));
  EXPECT_THAT(to_f64(batches[1].input), ElementsAre(2, 3));
  EXPECT_THAT(batches[1].ids, ElementsAre("#2", "#3"));
  EXPECT_THAT(batches[1].labels, ElementsAre(2, 3));
  EXPECT_EQ(batches[2].input.shape, (Shape{1, 1, 1, 1}));
}

TEST(Loader, a_fixed_batch_is_filled_up_with_the_last_example) {
  CountingDataset dataset(5);
  const auto batches = load(dataset, pixels(3), {.batch = 1});
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_THAT(to_f64(batches[1].input), ElementsAre(3, 4, 4));
  EXPECT_EQ(batches[1].input.shape, (Shape{3, 1, 1, 1}));
  EXPECT_THAT(batches[1].labels, ElementsAre(3, 4));
  EXPECT_THAT(batches[1].positions, ElementsAre(3, 4));
}

TEST(Loader, bad_examples_are_left_out_and_counted) {
  CountingDataset dataset(8);
  dataset.names = {"a", "b", "c", "d", "e", "f", "g", "h", "i"};
  dataset.damaged = {1};
  dataset.unlabelled = {2};
  DatasetReport report;
  const auto batches =
      load(dataset, pixels(),
           {.batch = 9,
            .needs = Needs::label,
            .mapping = LabelMapping{{0, 0}, {1, 1}, {2, 2}, {3, 30}, {4, 4}, {6, 99}},
            .model_labels = 40},
           &report);
  ASSERT_EQ(batches.size(), 1u);
  EXPECT_THAT(batches[0].labels, ElementsAre(0, 30, 4));
  EXPECT_EQ(report.selected, 8);
  EXPECT_EQ(report.used, 3);
  EXPECT_EQ(report.unreadable, 1);
  EXPECT_EQ(report.without_label, 1);
  EXPECT_EQ(report.unknown_labels, 3);  // 5 and 7 are not mapped, 6 to a label too high
  EXPECT_EQ(report.bad(), 5);
  EXPECT_THAT(report.problems, ElementsAre("[image] #1: the image is empty", "#2: has no label",
                                           "#5: its label 5 is none of the model's",
                                           "#6: its label 99 is none of the model's",
                                           "#7: its label 7 is none of the model's"));
  EXPECT_THAT(report.empty_classes, ElementsAre("b", "c", "g"));  // f, h, i: not mapped
}

TEST(Loader, a_block_does_not_depend_on_those_before_it) {
  CountingDataset dataset(9);
  dataset.damaged = {1, 3, 4, 5};
  const LoaderOptions options{.preprocessing = as_is, .batch = 3};
  Loader all(dataset, select_positions(9, {}), pixels(), options);
  std::vector<ExampleBlock> blocks;
  while (auto block = all.next_block()) blocks.push_back(std::move(*block));
  ASSERT_EQ(std::ssize(blocks), all.blocks());
  EXPECT_THAT(blocks[0].batch->positions, ElementsAre(0, 2));
  EXPECT_FALSE(blocks[1].batch);
  EXPECT_EQ(blocks[1].report.unreadable, 3);

  Loader some(dataset, select_positions(9, {}), pixels(), options);
  some.skip_block();
  some.skip_block(blocks[1].report);
  const auto last = some.next_block();
  EXPECT_EQ(last->batch->input, blocks[2].batch->input);
  EXPECT_EQ(last->report, blocks[2].report);
  EXPECT_FALSE(some.next_block());
  EXPECT_EQ(some.report().unreadable, 3);
  EXPECT_EQ(some.report().used, 3);
}

TEST(Loader, labels_are_of_no_matter_when_they_are_not_needed) {
  CountingDataset dataset(3);
  dataset.unlabelled = {1};
  const auto batches = load(dataset, pixels(), {.batch = 3, .model_labels = 1});
  EXPECT_THAT(batches.at(0).labels, ElementsAre(0, -1, 2));
}

TEST(Loader, more_bad_examples_than_allowed_end_the_work) {
  CountingDataset dataset(6);
  dataset.damaged = {1, 3, 4};
  EXPECT_EQ(load(dataset, pixels(), {.max_bad = 3}).size(), 3u);
  EXPECT_EQ(failure_of([&] { load(dataset, pixels(), {.max_bad = 2}); }),
            "[dataset] 3 bad examples, --max-bad is 2; the first: [image] #1: the image is empty");
}

TEST(Loader, nothing_usable_is_an_error) {
  CountingDataset dataset(2);
  dataset.damaged = {0, 1};
  EXPECT_THAT(failure_of([&] { load(dataset, pixels(), {}); }),
              HasSubstr("none of 2 examples can be used; the first: [image] #0"));
}

TEST(Loader, preprocessing_that_does_not_fit_the_model_is_an_error_at_once) {
  CountingDataset dataset(2);
  EXPECT_THAT(failure_of([&] { load(dataset, pixels(-1, 28), {}); }),
              HasSubstr("an image of 1x1 (height x width), model expects 28x28"));
}

TEST(Loader, ready_inputs_are_cast_and_must_fit) {
  const TemporaryDirectory folder;
  const auto path = write_npz(folder / "x.npz", {ramp("input", {3, 2})});
  const auto dataset = open_dataset(path);
  const TensorSpec pair{"x", DType::f64, {{-1, "N"}, {2, ""}}};
  const auto batches = load(*dataset, pair, {.batch = 3});
  EXPECT_EQ(batches.at(0).input.name, "x");
  EXPECT_EQ(batches[0].input.dtype, DType::f64);
  EXPECT_EQ(batches[0].input.shape, (Shape{3, 2}));
  EXPECT_THAT(to_f64(batches[0].input), ElementsAre(0, 1, 2, 3, 4, 5));
  const TensorSpec triple{"x", DType::f32, {{-1, "N"}, {3, ""}}};
  EXPECT_THAT(failure_of([&] { load(*dataset, triple, {}); }),
              HasSubstr("x: a row has shape [2], model expects [3]"));
}

TEST(Loader, images_of_several_sizes_cannot_share_a_batch) {
  const TemporaryDirectory folder;
  write_text(folder / "a.pgm", grey_pgm(2, 2, 1));
  write_text(folder / "b.pgm", grey_pgm(3, 2, 1));
  const auto dataset = open_dataset(folder.path());
  const TensorSpec any{"x", DType::f32, {{-1, ""}, {1, ""}, {-1, ""}, {-1, ""}}};
  EXPECT_EQ(load(*dataset, any, {.batch = 1}).size(), 2u);
  EXPECT_THAT(failure_of([&] { load(*dataset, any, {.batch = 2}); }),
              HasSubstr("cannot share a batch"));
}

TEST(Loader, ready_rows_feed_an_input_of_unknown_rank) {
  const TemporaryDirectory folder;
  const auto dataset = open_dataset(write_npz(folder / "x.npz", {ramp("x", {3, 4})}));
  const auto batches = load(*dataset, {"x", DType::f32, {}, false}, {.batch = 2});
  ASSERT_EQ(batches.size(), 2u);
  EXPECT_EQ(batches[0].input.shape, (Shape{2, 4}));
}

// Images of two pixels with maps of labels; the second example's map is missing, the third's bad.
std::unique_ptr<Dataset> images_with_maps(const TemporaryDirectory& folder) {
  for (const char* name : {"a", "b", "c"})
    write_text(folder / "images" / fmt::format("{}.pgm", name), grey_pgm(2, 1, 9));
  write_text(folder / "labels/a.pgm", grey_pgm(2, 1, 3));
  write_text(folder / "labels/c.pgm", "damaged");
  return open_dataset(folder.path());
}

TEST(Loader, targets_come_with_their_examples) {
  const TemporaryDirectory folder;
  const auto dataset = images_with_maps(folder);
  const TensorSpec input{"x", DType::f32, {{-1, ""}, {1, ""}, {1, ""}, {2, ""}}};
  DatasetReport report;
  const auto batches = load(*dataset, input, {.batch = 4, .needs = Needs::target}, &report);
  ASSERT_EQ(batches.size(), 1u);
  ASSERT_EQ(batches[0].targets.size(), 1u);
  EXPECT_EQ(batches[0].targets[0].shape, (Shape{1, 2}));
  EXPECT_THAT(to_f64(batches[0].targets[0]), ElementsAre(3, 3));
  EXPECT_EQ(report.without_label, 1);
  EXPECT_EQ(report.unreadable, 1);
  EXPECT_EQ(report.problems[0], "images/b.pgm: has no map of labels or token ids");
  EXPECT_TRUE(load(*dataset, input, {}).at(0).targets.empty());
}

TEST(Loader, a_dataset_without_any_labels_is_an_error) {
  CountingDataset dataset(2);
  EXPECT_THAT(failure_of([&] { load(dataset, pixels(), {.needs = Needs::target}); }),
              HasSubstr("none of 2 examples has a map of labels or token ids"));
  dataset.unlabelled = {0, 1};
  EXPECT_THAT(failure_of([&] { load(dataset, pixels(), {.needs = Needs::label}); }),
              HasSubstr("none of 2 examples has a label; give a dataset that has"));
}

TEST(Loader, maps_in_arrays_are_taken_as_they_are) {
  const TemporaryDirectory folder;
  Tensor maps = make_tensor("label", DType::u8, {2, 1, 2});
  elements<std::uint8_t>(maps)[3] = 7;
  const auto dataset = open_dataset(write_npz(folder / "x.npz", {ramp("x", {2, 1, 1, 2}), maps}));
  const TensorSpec input{"x", DType::f32, {{-1, ""}, {1, ""}, {1, ""}, {2, ""}}};
  const auto batches = load(*dataset, input, {.batch = 2, .needs = Needs::target});
  EXPECT_EQ(batches.at(0).targets[1].dtype, DType::i64);
  EXPECT_THAT(to_f64(batches[0].targets[1]), ElementsAre(0, 7));
  const LoaderOptions resized{.preprocessing = {.resize = ResizeRule{.exact = Size{2, 1}}},
                              .needs = Needs::target};
  EXPECT_THAT(failure_of([&] { Loader(*dataset, {0}, input, resized).next(); }),
              HasSubstr("not resized or cropped with their images"));
}

}  // namespace
}  // namespace vernier
