#include "vernier/report/warning.h"

#include <gtest/gtest.h>

namespace vernier {
namespace {

TEST(WarningReport, a_sentence_of_a_runtime_is_shown_as_it_is) {
  EXPECT_EQ(warning_texts(reported({"traced in training mode"})),
            std::vector<std::string>{"traced in training mode"});
}

TEST(WarningReport, what_a_file_of_inputs_holds_besides_is_told_with_the_file) {
  EXPECT_EQ(warning_text({.kind = WarningKind::cast_array,
                          .subject = "x",
                          .other = "a.npz",
                          .more = {"float64", "float32"}}),
            "[npz] a.npz: 'x' is float64, the model takes float32; cast");
  EXPECT_EQ(warning_text({.kind = WarningKind::leftover_rows,
                          .subject = "x",
                          .other = "a.npz",
                          .value = 1,
                          .limit = 12345678,
                          .more = {"2"}}),
            "[npz] a.npz: the last 1 of 12345678 rows of 'x' do not fill a batch of 2; left out");
  EXPECT_EQ(
      warning_text({.kind = WarningKind::unnamed_arrays, .other = "a.npz", .value = 3, .limit = 1}),
      "[npz] a.npz: of 3 arrays without names the model's inputs take the first 1; the rest is "
      "ignored");
  EXPECT_EQ(warning_text({WarningKind::unused_array, "y", "a.npz"}),
            "[npz] a.npz: 'y' is no input of the model; ignored");
}

TEST(WarningReport, outputs_in_another_order_are_told_in_both_orders) {
  EXPECT_EQ(warning_text({WarningKind::reordered_outputs, "c, a", "a, c"}),
            "the candidate's outputs are in another order, c, a for the reference's a, c: they are "
            "paired by name; code that takes outputs by position gets different ones");
}

TEST(WarningReport, long_lists_of_layers_are_cut) {
  EXPECT_EQ(warning_text({.kind = WarningKind::not_compared,
                          .subject = "it did not run",
                          .more = {"a", "b", "c", "d", "e", "f", "g"}}),
            "not compared, it did not run: a, b, c, d, e and 2 more");
}

TEST(WarningReport, counts_are_whole_numbers) {
  EXPECT_EQ(warning_text({.kind = WarningKind::zero_output, .subject = "y"}),
            "output 'y' of the reference is zero in every sample, so agreement proves little");
  EXPECT_EQ(warning_text({.kind = WarningKind::constant_output, .subject = "y", .value = 2}),
            "output 'y' and 2 more of the reference are the same in every sample, so agreement "
            "proves little");
  EXPECT_EQ(
      warning_text({.kind = WarningKind::nonfinite_input, .subject = "x", .value = 12345678}),
      "input 'x' already holds NaN or infinity in sample 12345678: fix it, or leave the sample "
      "out");
}

TEST(WarningReport, axes_of_an_input_are_shown_on_both_sides) {
  EXPECT_EQ(warning_text({.kind = WarningKind::permuted_input,
                          .subject = "x",
                          .more = {"[1,3,8,8]", "[1,8,8,3]", "0,2,3,1"}}),
            "input 'x' is [1,3,8,8] in the candidate and [1,8,8,3] in the reference: its axes are "
            "permuted (0,2,3,1)");
  EXPECT_EQ(
      warning_text({.kind = WarningKind::widened_input, .subject = "x", .more = {"[8]", "[1,8]"}}),
      "input 'x' is [8] in the candidate and [1,8] in the reference: axes of size 1 are "
      "added");
}

TEST(WarningReport, how_many_samples_to_give_is_said_only_if_it_is_known) {
  EXPECT_EQ(warning_text({.kind = WarningKind::few_samples, .value = 8}),
            "few samples (8): ranges and figures depend on which they are");
  EXPECT_EQ(warning_text({.kind = WarningKind::few_samples, .value = 8, .limit = 32}),
            "few samples (8): ranges and figures depend on which they are; give at least 32, "
            "better 128 or more");
}

}  // namespace
}  // namespace vernier
