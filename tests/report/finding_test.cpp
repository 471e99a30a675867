#include "vernier/report/finding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vernier/analysis/check/finding_kinds.h"
#include "vernier/report/explanations.h"

namespace vernier {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// One of each kind, in the order of the kinds, with values that all look different.
std::vector<Statement> examples() {
  using enum StatementKind;
  const Statement part{message, {"a part"}};
  const Shape shape = {2, 3}, other = {4, 5};
  const std::vector<Dim> declared = {{-1, "batch"}, {7, ""}};
  const std::vector<double> mean = {0.25, 0.125}, deviation = {0.75}, mean2 = {12},
                            deviation2 = {13};
  return {
      {none},
      {message, {"failed"}},
      {contrib_operator, {"Gelu", "com.microsoft"}},
      {custom_operator, {"Fancy", "org.example"}},
      {unknown_operator, {"Gelus"}},
      {unregistered_operator, {"org.example", "Fancy"}},
      {newer_operator, {"Gelu", 20, 17}},
      {removed_operator, {"Upsample", 10, 13}},
      {damaged_file},
      {too_large_inputs},
      {no_size_runs, {"failed"}},
      {needs_values, {"failed"}},
      {ungenerated_type, {"x", "sequence"}},
      {undeclared_shape, {"x"}},
      {other_output_shape, {declared, shape}},
      {second_run_failed, {"failed"}},
      {output_varies, {"y"}},
      {tensor_varies, {"y", "z", "Neg"}},
      {output_differs, {part, Statement{large_values}}},
      {nonfinite_reference, {part, 11, 12}},
      {given_samples},
      {random_sample, {11}},
      {zeros},
      {ones},
      {large_values},
      {missing_output},
      {other_shape, {shape, other}},
      {nonfinite_output},
      {low_sqnr, {11.5, 40.5}},
      {large_difference, {0.5, 1.5}},
      {frozen_axis, {"batch", 11, part}},
      {failing_axis, {"batch", 11, "failed"}},
      {frozen_output, {"axis", 11, "y", shape, declared}},
      {frozen_output_node, {"axis", 11, "y", shape, declared, part}},
      {mixed_rows, {"batch", 11, 12, 8.5}},
      {mixed_scales, {"batch", 11, 12, 8.5}},
      {fixed_batch, {11, 22}},
      {fixed_sequence, {11, 22}},
      {constant_shape, {"Reshape", "node_1", shape}},
      {constant_input, {"Add", "node_1", "w", shape}},
      {training_dropout, {0.5}},
      {untested_dropout, {0.5}},
      {switchable_dropout, {"mode", 0.5}},
      {training_batchnorm},
      {untested_batchnorm},
      {statistics_outputs},
      {computed_statistics, {"variance"}},
      {batch_mean, {"x", "node_1"}},
      {random_operator, {"RandomNormal"}},
      {nonfinite_in_output, {part, "x", Statement{written_by, {"Log"}}, "y"}},
      {nonfinite_inside, {part, "x", Statement{written_by, {"Log"}}}},
      {constant_index, {11.0, "table", 12, 13}},
      {last_index, {"ids", 11, 12, "failed"}},
      {given_index, {11.0, 12}},
      {nan},
      {infinity},
      {nan_or_infinity},
      {written_by, {"Log"}},
      {f64_input, {part}},
      {f64_node, {"Cast", part}},
      {f64_nodes, {11}},
      {cast_round_trip, {"x", DType::f32, DType::bf16, part}},
      {around_node, {"Add", "node_1"}},
      {follows_node, {"Conv", "node_1"}},
      {epsilon_vanishes, {0.5, DType::f16}},
      {added_vanishes, {0.5, DType::f16}},
      {long_softmax, {4096}},
      {nonfinite_elements, {11, 12, 13}},
      {beyond_f16, {11, 12, 0.5}},
      {subnormal_elements, {11, 12, 0.5}},
      {dead_channels, {11, 12, "Conv", "node_1"}},
      {rescaled_twice},
      {byte_mean_in_graph, {mean}},
      {unit_mean_in_graph, {mean}},
      {byte_mean_rescaled, {mean}},
      {unit_mean_unscaled, {mean}},
      {normalised_twice, {mean, deviation, mean2, deviation2}},
      {never_normalised},
      {reversed_twice},
      {bgr_mean, {mean, part}},
      {rgb_mean, {mean, part}},
      {layout_of_sidecar, {"NCHW", "NHWC"}},
      {layout_of_config, {"NCHW", "NHWC"}},
      {other_channel_count, {11, 12}},
      {other_image_size, {11, 12, 13, 14}},
      {of_graph},
      {of_preprocessing},
      {data_elsewhere, {"/w.bin"}},
      {short_data, {11, 12, "w.bin", 13}},
      {needed_by, {part, 11}},
      {oversized_file, {11, 12}},
      {old_opset, {11}},
      {old_ir_version, {11, 12, 13}},
      {unread_weight, {11}},
      {weight_as_input, {11}},
      {repeated_name},
      {unused_node, {"Abs"}},
      {unsorted_node, {"cast"}},
      {unread_input},
      {reads_identity, {"node_1"}},
      {constant_bytes, {2048}},
      {duplicates, {4096, std::vector<std::string>{"v", "w"}}},
      {missing_shape},
      {missing_shapes, {11}},
      {unpaired_quantize, {"Add", "node_1"}},
      {mismatched_pair, {"node_1", 0.5, 11.0, 1.5, 12.0}},
      {requantized, {"node_1", 0.5, 11.0, 1.5, 12.0}},
      {broken_scale, {part, 0.5}},
      {subnormal_scale, {part, 0.5}},
      {zero_point_overflow, {300, "uint8"}},
      {zero_point_type, {DType::i8, DType::u16}},
      {nonzero_zero_point, {3.0, DType::i32}},
      {unfilled_range, {"x", 0.5, 1.5, "Sigmoid", 2.5, 3.5}},
      {float_weight, {"Conv"}},
      {only_scale},
      {scale_of, {11, 12}},
      {given_data},
      {closest_operator, {"Relu"}},
      {newer_opset, {20}},
      {replacing_operator, {"Resize", 9}},
      {deployed_batch},
      {calibration_inputs},
  };
}

TEST(FindingReport, every_statement_has_a_sentence_with_all_its_values) {
  const std::vector<Statement> statements = examples();
  ASSERT_EQ(statements.size(), static_cast<std::size_t>(StatementKind::calibration_inputs) + 1);
  for (std::size_t i = 0; i < statements.size(); ++i) {
    ASSERT_EQ(static_cast<std::size_t>(statements[i].kind), i);
    const std::string text = statement_text(statements[i]);
    EXPECT_EQ(text.empty(), i == 0) << i;
    EXPECT_THAT(text, Not(HasSubstr("{"))) << i;
    for (const StatementValue& value : statements[i].values)
      EXPECT_THAT(text, HasSubstr(statement_text({StatementKind::message, {value}}))) << i;
  }
}

TEST(FindingReport, a_sentence_without_one_of_its_values_is_refused) {
  EXPECT_ANY_THROW(statement_text({StatementKind::newer_operator, {"Gelu", 20}}));
  EXPECT_ANY_THROW(statement_text({StatementKind::low_sqnr, {"Gelu", 20}}));
}

TEST(FindingReport, parts_stand_inside_of_sentences) {
  EXPECT_EQ(statement_text({StatementKind::output_differs,
                            {Statement{StatementKind::random_sample, {2}},
                             Statement{StatementKind::other_shape, {Shape{2, 3}, Shape{4, 5}}}}}),
            "on random sample 2 it has the shape [2,3], the reference's is [4,5]");
  EXPECT_EQ(statement_text({StatementKind::nonfinite_inside,
                            {Statement{StatementKind::nan}, "y", Statement{}}}),
            "NaN first appears in 'y', and no output holds it");
  EXPECT_EQ(statement_text(
                {StatementKind::needed_by, {Statement{StatementKind::data_elsewhere, {"/w"}}, 2}}),
            "its data is in '/w', which 2 weights need");
}

TEST(FindingReport, a_remedy_is_that_of_the_explanation_unless_the_finding_has_its_own) {
  Finding finding =
      make_finding("mixed-batch", {}, {StatementKind::mixed_scales, {"batch", 2, 1, 8.5}});
  EXPECT_EQ(remedy_text(finding),
            "Export in eval mode, and check reshapes and reductions that touch axis 0.");
  finding.remedy = {StatementKind::deployed_batch};
  EXPECT_EQ(remedy_text(finding), "Evaluate with the batch that is deployed.");
}

TEST(FindingReport, findings_with_other_remedies_are_not_grouped) {
  const auto newer = [](const char* op, std::int64_t opset) {
    Finding finding =
        make_finding("unknown-operator", {}, {StatementKind::newer_operator, {op, opset, 9}});
    finding.remedy = {StatementKind::newer_opset, {opset}};
    return finding;
  };
  const Findings groups = grouped({newer("Gelu", 20), newer("Mish", 18), newer("AffineGrid", 20)});
  ASSERT_EQ(groups.size(), 2u);
  ASSERT_EQ(groups[0].more.size(), 1u);
  EXPECT_EQ(evidence_text(groups[0].more[0]), "AffineGrid came with opset 20, the model imports 9");
  EXPECT_TRUE(groups[1].more.empty());
}

}  // namespace
}  // namespace vernier
