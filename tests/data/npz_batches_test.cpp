#include "vernier/data/npz_batches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/arrays.h"
#include "tests/temporary_directory.h"
#include "vernier/error.h"
#include "vernier/report/warning.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/npy.h"
#include "vernier/tensor/permute.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

class NpzBatchesTest : public ::testing::Test {
 protected:
  auto opening(const std::filesystem::path& path, const std::vector<TensorSpec>& inputs,
               const std::map<std::string, Shape>& shapes = {}) {
    return [=] { npz_batches(path, inputs, shapes); };
  }
  TemporaryDirectory folder_;
};

const TensorSpec dynamic = {"x", DType::f32, {{-1, "batch"}, {3, ""}}};
const TensorSpec batch_of_two = {"x", DType::f32, {{2, ""}, {3, ""}}};

TEST_F(NpzBatchesTest, a_dynamic_batch_takes_one_row_a_sample) {
  const auto batches =
      npz_batches(write_npz(folder_ / "a.npz", {ramp("x", {4, 3})}), std::vector{dynamic});
  EXPECT_EQ(batches.samples->size(), 4);
  EXPECT_THAT(batches.warnings, IsEmpty());
  EXPECT_THAT(batches.samples->sample(2), ElementsAre(ramp("x", {1, 3}, 6)));
  EXPECT_THAT(batches.samples->sample(0), ElementsAre(ramp("x", {1, 3}, 0)));
}

TEST_F(NpzBatchesTest, an_npy_is_the_only_inputs_whatever_its_name) {
  write_npy(folder_ / "recorded.npy", ramp("", {4, 3}));
  const auto batches = npz_batches(folder_ / "recorded.npy", std::vector{dynamic});
  EXPECT_EQ(batches.samples->size(), 4);
  EXPECT_THAT(batches.warnings, IsEmpty());
  EXPECT_THAT(batches.samples->sample(2), ElementsAre(ramp("x", {1, 3}, 6)));
  const TensorSpec other = {"y", DType::f32, {{-1, "batch"}, {3, ""}}};
  EXPECT_THAT(opening(folder_ / "recorded.npy", {dynamic, other}),
              ThrowsMessage<Error>(HasSubstr("has no array for input 'x', it has 'recorded'")));
}

TEST_F(NpzBatchesTest, a_static_batch_takes_its_rows_and_warns_of_the_rest) {
  const auto batches =
      npz_batches(write_npz(folder_ / "a.npz", {ramp("x", {5, 3})}), std::vector{batch_of_two});
  EXPECT_EQ(batches.samples->size(), 2);
  EXPECT_THAT(batches.samples->sample(1), ElementsAre(ramp("x", {2, 3}, 6)));
  EXPECT_THAT(warning_texts(batches.warnings),
              ElementsAre(HasSubstr("the last 1 of 5 rows of 'x' do not fill a batch of 2")));
}

TEST_F(NpzBatchesTest, a_given_shape_sets_the_dynamic_batch) {
  const auto path = write_npz(folder_ / "a.npz", {ramp("x", {6, 3})});
  const auto batches = npz_batches(path, std::vector{dynamic}, {{"x", {3, 3}}});
  EXPECT_EQ(batches.samples->size(), 2);
  EXPECT_EQ(batches.samples->sample(0)[0].shape, (Shape{3, 3}));
}

TEST_F(NpzBatchesTest, an_input_of_unknown_rank_takes_one_row_a_sample_or_the_shape_given) {
  const TensorSpec unranked = {.name = "x", .ranked = false};
  const auto path = write_npz(folder_ / "a.npz", {ramp("x", {6, 3})});
  EXPECT_THAT(npz_batches(path, std::vector{unranked}).samples->sample(1),
              ElementsAre(ramp("x", {1, 3}, 3)));
  const auto batches = npz_batches(path, std::vector{unranked}, {{"x", {2, 3}}});
  EXPECT_THAT(batches.samples->sample(1), ElementsAre(ramp("x", {2, 3}, 6)));
}

TEST_F(NpzBatchesTest, an_extra_leading_axis_holds_whole_samples) {
  const auto path = write_npz(folder_ / "a.npz", {ramp("x", {4, 2, 3}), ramp("rate", {4})});
  const auto batches =
      npz_batches(path, std::vector<TensorSpec>{batch_of_two, {"rate", DType::f32, {}}});
  EXPECT_EQ(batches.samples->size(), 4);
  EXPECT_THAT(batches.samples->sample(3), ElementsAre(ramp("x", {2, 3}, 18), ramp("rate", {}, 3)));
}

TEST_F(NpzBatchesTest, inputs_come_in_the_order_of_the_model) {
  const auto path = write_npz(folder_ / "a.npz", {ramp("x", {2, 3}), ramp("first", {2, 1})});
  const auto batches = npz_batches(
      path, std::vector<TensorSpec>{{"first", DType::f32, {{-1, ""}, {1, ""}}}, dynamic});
  EXPECT_EQ(batches.samples->sample(0)[0].name, "first");
}

TEST_F(NpzBatchesTest, another_dtype_is_cast_with_a_warning) {
  const auto path = write_npz(folder_ / "a.npz", {convert(ramp("x", {4, 3}), DType::f64)});
  const auto batches = npz_batches(path, std::vector{dynamic});
  EXPECT_THAT(warning_texts(batches.warnings),
              ElementsAre(HasSubstr("'x' is float64, the model takes float32")));
  EXPECT_THAT(batches.samples->sample(1), ElementsAre(ramp("x", {1, 3}, 3)));
}

TEST_F(NpzBatchesTest, an_array_that_is_no_input_is_ignored_with_a_warning) {
  const auto path = write_npz(folder_ / "a.npz", {ramp("x", {4, 3}), ramp("label", {7})});
  EXPECT_THAT(warning_texts(npz_batches(path, std::vector{dynamic}).warnings),
              ElementsAre(HasSubstr("'label' is no input of the model")));
}

TEST_F(NpzBatchesTest, arrays_without_names_that_are_left_over_are_told_together) {
  const auto path =
      write_npz(folder_ / "a.npz", {ramp("arr_0", {4, 3}), ramp("arr_1", {4}), ramp("arr_2", {4})});
  EXPECT_THAT(warning_texts(npz_batches(path, std::vector{dynamic}).warnings),
              ElementsAre(HasSubstr("of 3 arrays without names the model's inputs take the first "
                                    "1; the rest is ignored")));
}

TEST_F(NpzBatchesTest, a_folder_holds_one_sample_a_file_and_dynamic_dims_may_differ) {
  write_npz(folder_ / "1.npz", {ramp("x", {1, 3})});
  write_npz(folder_ / "2.npz", {ramp("x", {2, 3})});
  const auto batches = npz_batches(folder_.path(), std::vector{dynamic});
  EXPECT_EQ(batches.samples->size(), 2);
  EXPECT_EQ(batches.samples->sample(1)[0], ramp("x", {2, 3}));
}

TEST_F(NpzBatchesTest, an_input_without_a_known_rank_takes_the_array_as_it_is) {
  const TensorSpec unranked = {.name = "x", .ranked = false};
  const Tensor ids = make_tensor("x", DType::i64, {4, 3});
  const auto path = write_npz(folder_ / "a.npz", {ids});
  const auto batches = npz_batches(path, std::vector{unranked});
  EXPECT_THAT(batches.warnings, IsEmpty());
  EXPECT_THAT(batches.samples->sample(3), ElementsAre(make_tensor("x", DType::i64, {1, 3})));
  EXPECT_THAT(npz_batches(folder_.path(), std::vector{unranked}).samples->sample(0),
              ElementsAre(ids));
  const auto pairs = npz_batches(path, std::vector{unranked}, {{"x", {2, 3}}});
  EXPECT_THAT(pairs.samples->sample(1), ElementsAre(make_tensor("x", DType::i64, {2, 3})));
}

TEST_F(NpzBatchesTest, a_missing_array_names_those_that_are_there) {
  EXPECT_THAT(opening(write_npz(folder_ / "a.npz", {ramp("X", {4, 3}), ramp("y", {4})}), {dynamic}),
              ThrowsMessage<Error>(HasSubstr("has no array for input 'x', it has 'X', 'y'; name")));
}

TEST_F(NpzBatchesTest, a_shape_that_does_not_fit_is_refused) {
  EXPECT_THAT(opening(write_npz(folder_ / "a.npz", {ramp("x", {4, 5})}), {dynamic}),
              ThrowsMessage<Error>(
                  HasSubstr("a row of 'x' has shape [5], model expects [3]; fix the file")));
  EXPECT_THAT(opening(write_npz(folder_ / "b.npz", {ramp("x", {4})}), {dynamic}),
              ThrowsMessage<Error>(HasSubstr("'x' has rank 1, model expects [batch,3]")));
  EXPECT_THAT(
      opening(write_npz(folder_ / "c.npz", {ramp("x", {4, 3})}), {dynamic}, {{"x", {1, 9}}}),
      ThrowsMessage<Error>(HasSubstr("shape [1,9] was asked for")));
  EXPECT_THAT(
      opening(write_npz(folder_ / "d.npz", {ramp("x", {4, 3})}), {dynamic}, {{"z", {1, 9}}}),
      ThrowsMessage<Error>(HasSubstr("no input 'z'")));
}

TEST_F(NpzBatchesTest, a_shape_that_contradicts_the_file_is_answered_by_the_one_to_pass) {
  const TensorSpec sequence = {"ids", DType::f32, {{-1, "batch"}, {-1, "length"}}};
  EXPECT_THAT(
      opening(write_npz(folder_ / "a.npz", {ramp("ids", {4, 7})}), {sequence}, {{"ids", {2, 9}}}),
      ThrowsMessage<Error>(HasSubstr("has shape [7], --shape says [9]; pass --shape ids=2x7")));
}

TEST_F(NpzBatchesTest, rows_may_have_other_axes_of_size_one) {
  const TensorSpec image = {"x", DType::f32, {{2, ""}, {-1, "width"}}};
  const auto recorded = write_npz(folder_ / "a.npz", {ramp("x", {3, 1, 2, 4})});
  const auto batches = npz_batches(recorded, std::vector{image});
  EXPECT_EQ(batches.samples->size(), 3);
  EXPECT_THAT(batches.samples->sample(1), ElementsAre(ramp("x", {2, 4}, 8)));
  const TensorSpec batch = {"x", DType::f32, {{1, ""}, {1, ""}, {2, ""}, {4, ""}, {1, ""}}};
  EXPECT_THAT(npz_batches(recorded, std::vector{batch}).samples->sample(2),
              ElementsAre(ramp("x", {1, 1, 2, 4, 1}, 16)));
}

TEST_F(NpzBatchesTest, an_image_that_fits_only_in_the_other_layout_is_permuted) {
  const TensorSpec last = {"x", DType::f32, {{-1, "batch"}, {-1, "h"}, {5, ""}, {3, ""}}};
  const TensorSpec first = {"x", DType::f32, {{2, ""}, {3, ""}, {4, ""}, {-1, "w"}}};
  const auto in_first = write_npz(folder_ / "first.npz", {ramp("x", {4, 3, 4, 5})});
  const auto batches = npz_batches(in_first, std::vector{last});
  EXPECT_THAT(warning_texts(batches.warnings),
              ElementsAre(HasSubstr("rows of 'x' have shape [3,4,5], the model takes [h,5,3]; "
                                    "their axes are permuted")));
  EXPECT_THAT(batches.samples->sample(1),
              ElementsAre(permute_axes(ramp("x", {1, 3, 4, 5}, 60), std::vector{0, 2, 3, 1})));
  const auto in_last = write_npz(folder_ / "last.npz", {ramp("x", {4, 4, 5, 3})});
  EXPECT_THAT(npz_batches(in_last, std::vector{first}).samples->sample(1),
              ElementsAre(permute_axes(ramp("x", {2, 4, 5, 3}, 120), std::vector{0, 3, 1, 2})));
  EXPECT_THAT(npz_batches(in_last, std::vector{last}).warnings, IsEmpty());
  // No image has so many channels: nothing says what the axes are.
  const TensorSpec wide = {"x", DType::f32, {{-1, "batch"}, {6, ""}, {-1, "h"}, {-1, "w"}}};
  EXPECT_THAT(opening(write_npz(folder_ / "wide.npz", {ramp("x", {4, 4, 5, 6})}), {wide}),
              ThrowsMessage<Error>(HasSubstr("a row of 'x' has shape [4,5,6]")));
}

TEST_F(NpzBatchesTest, arrays_may_have_the_names_of_another_model) {
  const auto path = write_npz(folder_ / "a.npz", {ramp("image", {4, 3})});
  const auto batches = npz_batches(path, std::vector{dynamic}, {}, {{"image", "x"}});
  EXPECT_THAT(batches.samples->sample(2), ElementsAre(ramp("x", {1, 3}, 6)));
}

TEST_F(NpzBatchesTest, a_file_of_a_folder_that_does_not_fit_is_found_before_anything_runs) {
  write_npz(folder_ / "1.npz", {ramp("x", {1, 3})});
  write_npz(folder_ / "2.npz", {ramp("x", {1, 4})});
  EXPECT_THAT(opening(folder_.path(), {dynamic}), ThrowsMessage<Error>(HasSubstr("2.npz: a row")));
}

TEST_F(NpzBatchesTest, arrays_must_hold_as_many_samples_each) {
  const TensorSpec other = {"y", DType::f32, {{-1, ""}}};
  EXPECT_THAT(
      opening(write_npz(folder_ / "a.npz", {ramp("x", {4, 3}), ramp("y", {3})}), {dynamic, other}),
      ThrowsMessage<Error>(HasSubstr("'x' holds 4 samples, 'y' holds 3")));
}

TEST_F(NpzBatchesTest, fewer_rows_than_a_batch_is_an_error) {
  EXPECT_THAT(opening(write_npz(folder_ / "a.npz", {ramp("x", {1, 3})}), {batch_of_two}),
              ThrowsMessage<Error>(HasSubstr("'x' has 1 rows, the model's batch is 2")));
  EXPECT_THAT(opening(write_npz(folder_ / "b.npz", {ramp("x", {0, 3})}), {dynamic}),
              ThrowsMessage<Error>(HasSubstr("has 0 rows")));
}

}  // namespace
}  // namespace vernier
