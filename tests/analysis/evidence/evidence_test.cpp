#include "vernier/analysis/evidence/evidence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/failure_texts.h"
#include "tests/model_builder.h"
#include "vernier/model/index.h"
#include "vernier/report/verdict.h"

namespace vernier {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const Limit limit{.metric = "sqnr_db_mean", .fails = Limit::Fails::below, .value = 15};
const Failure broken{.subject = "y", .metric = "sqnr_db_mean", .value = 6, .limit = limit};
const Failure missing{.subject = "z", .metric = "candidate", .kind = FailureKind::missing};

Evidence quantized(double score, double clipped = 0) {
  return {.quantized = true,
          .calibration = CalibrationFit{.score = score,
                                        .most_clipped = "conv1",
                                        .clipped_share = clipped,
                                        .surely_clipped = clipped,
                                        .quantizers = 3},
          .diversity = 0.5};
}

WeightEvidence weights_that_are(WeightEvidence::Answer answer) {
  WeightEvidence evidence{.answer = answer,
                          .weights = {{.candidate = "conv3", .reference = "conv3", .steps = 187}}};
  if (answer == WeightEvidence::Answer::different) evidence.most_different = 0;
  return evidence;
}

Outcome outcome(std::vector<Failure> failures, const Evidence& evidence) {
  return make_verdict({limit}, std::move(failures), evidence).outcome;
}

TEST(Evidence, another_weight_fails_whatever_the_figures) {
  Evidence evidence = quantized(0.1);
  evidence.weights = weights_that_are(WeightEvidence::Answer::different);
  EXPECT_THAT(failure_texts(make_verdict({limit}, {}, evidence)),
              ElementsAre("weight conv3: not the reference's: 187 steps off"));
}

TEST(Evidence, a_transposed_weight_does_not_pass_where_the_outputs_do_not_show_it) {
  Evidence evidence = quantized(0.1);
  evidence.weights = weights_that_are(WeightEvidence::Answer::same);
  EXPECT_EQ(outcome({}, evidence), Outcome::pass);
  evidence.weights->weights[0].transposed = true;
  EXPECT_EQ(make_verdict({limit}, {}, evidence).doubts,
            (std::vector<Doubt>{{DoubtKind::transposed_weight, "conv3"}}));
}

TEST(Evidence, broken_limits_fail_where_the_inputs_are_real_or_fit_the_calibration) {
  Evidence real = quantized(0.95);
  real.real_inputs = true;
  EXPECT_EQ(outcome({broken}, real), Outcome::fail);
  EXPECT_EQ(outcome({broken}, quantized(0.4)), Outcome::fail);
  EXPECT_EQ(outcome({broken}, {}), Outcome::fail);  // a float model hardly depends on its inputs
}

// Of twelve made-up samples one may be unlike anything.
TEST(Evidence, one_made_up_sample_proves_no_loss) {
  const Limit worst{.metric = "sqnr_db", .fails = Limit::Fails::below, .value = 10};
  const Failure sample{.subject = "y", .metric = "sqnr_db", .value = -1, .limit = worst};
  EXPECT_EQ(outcome({sample}, quantized(0.1)), Outcome::inconclusive);
  Evidence real = quantized(0.1);
  real.real_inputs = true;
  EXPECT_EQ(outcome({sample}, real), Outcome::fail);
}

TEST(Evidence, rounded_constants_explain_a_little_and_no_other_network) {
  Evidence evidence = quantized(0.1);
  evidence.structure =
      StructureEvidence{.output = "y", .sqnr_db = 30, .unswitched = 1, .explained = true};
  EXPECT_EQ(outcome({}, evidence), Outcome::pass);
  evidence.structure->sqnr_db = 15;
  EXPECT_EQ(outcome({}, evidence), Outcome::pass);  // those of 4 bits are rounded as much
  evidence.structure->only_fine = true;
  EXPECT_EQ(outcome({}, evidence), Outcome::inconclusive);
}

TEST(Evidence, what_stays_quantized_is_no_excuse_unless_it_was_shown_to_make_the_difference) {
  Evidence evidence = quantized(0.1);
  evidence.real_inputs = true;
  evidence.structure = StructureEvidence{
      .output = "y", .sqnr_db = 50, .unswitched = 1, .first_unswitched = "attention"};
  const Verdict verdict = make_verdict({limit}, {}, evidence);
  EXPECT_EQ(verdict.doubts,
            (std::vector<Doubt>{{DoubtKind::unproven_structure, "attention", 50, 60}}));
  EXPECT_THAT(doubt_text(verdict.doubts[0]), testing::HasSubstr("attention stays quantized"));
  evidence.structure->sqnr_db = 61;
  EXPECT_EQ(outcome({}, evidence), Outcome::pass);
}

TEST(Evidence, class_ids_that_differ_in_float32_are_a_doubt) {
  Evidence evidence = quantized(0.1);
  evidence.structure = StructureEvidence{.sqnr_db = INFINITY, .other_ids = "ids", .equal_ids = 0.9};
  const Verdict verdict = make_verdict({limit}, {}, evidence);
  EXPECT_EQ(verdict.doubts, (std::vector<Doubt>{{DoubtKind::other_float_ids, "ids", 0.9, 0.98}}));
  EXPECT_THAT(doubt_text(verdict.doubts[0]),
              testing::HasSubstr("only 90.0 % of the integers in the candidate's output ids"));
  evidence.structure->unswitched = 1;
  EXPECT_EQ(outcome({}, evidence), Outcome::pass);
}

TEST(ClassIds, are_outputs_of_operators_that_number_classes) {
  GraphBuilder graph;
  graph.input("x", DType::f32, {{2}, {8}})
      .node("ArgMax", {"x"}, {"index"})
      .node("Cast", {"index"}, {"ids"}, {int_attribute("to", 6)})
      .node("Cast", {"x"}, {"rounded"}, {int_attribute("to", 6)})
      .output("ids", DType::i32, {{1}, {8}})
      .output("rounded", DType::i32, {{2}, {8}});
  const Model model = graph.model();
  EXPECT_THAT(find_class_ids(ModelIndex(model)), ElementsAre("ids"));
}

TEST(Evidence, a_difference_on_few_samples_is_a_doubt_and_no_proof) {
  Evidence evidence = quantized(0.1);
  evidence.structure = StructureEvidence{.output = "y", .sqnr_db = 20, .on_few = true};
  EXPECT_EQ(outcome({}, evidence), Outcome::inconclusive);
  evidence.structure->on_few = false;
  EXPECT_EQ(outcome({}, evidence), Outcome::fail);
}

TEST(Evidence, a_form_in_half_precision_may_round_but_is_still_measured) {
  Evidence evidence = quantized(0.1);
  const auto with = [&](double sqnr_db) {
    evidence.structure = StructureEvidence{.output = "y", .sqnr_db = sqnr_db, .in_half = true};
    return outcome({}, evidence);
  };
  EXPECT_EQ(with(45), Outcome::pass);
  EXPECT_EQ(with(30), Outcome::inconclusive);
  EXPECT_EQ(with(10), Outcome::fail);
}

TEST(Evidence, made_up_inputs_fail_no_float16_candidate_that_is_right_in_float32) {
  Evidence evidence{.half = true};
  evidence.structure = StructureEvidence{.output = "y", .sqnr_db = 90};
  EXPECT_EQ(outcome({broken}, evidence), Outcome::inconclusive);
  evidence.structure->sqnr_db = 50;
  EXPECT_EQ(outcome({broken}, evidence), Outcome::fail);
}

TEST(Evidence, a_limit_that_others_break_makes_a_pass_doubtful) {
  Evidence evidence = quantized(0.1);
  evidence.others = broken;
  const Verdict verdict = make_verdict({limit}, {}, evidence);
  EXPECT_EQ(verdict.outcome, Outcome::inconclusive);
  EXPECT_EQ(verdict.doubts, (std::vector<Doubt>{{DoubtKind::other_inputs, "y", 6, 15}}));
  EXPECT_THAT(doubt_text(verdict.doubts[0]), testing::HasSubstr("output y has 6.0 dB (< 15)"));
}

TEST(Evidence, broken_limits_prove_nothing_on_inputs_unlike_the_calibration_data) {
  const Verdict verdict = make_verdict({limit}, {broken}, quantized(0.95));
  EXPECT_EQ(verdict.outcome, Outcome::inconclusive);
  EXPECT_EQ(verdict.failures.size(), 1u);
  EXPECT_EQ(verdict.doubts, (std::vector<Doubt>{{DoubtKind::unlike_calibration, "", 0.95, 0.4}}));
  const Verdict dynamic = make_verdict({limit}, {broken}, Evidence{.quantized = true});
  EXPECT_EQ(dynamic.doubts.at(0).kind, DoubtKind::unknown_inputs);
}

TEST(Evidence, real_inputs_unlike_the_calibration_data_are_not_asked_for_again) {
  Evidence real = quantized(0.95);
  real.real_inputs = true;
  const Verdict verdict = make_verdict({limit}, {}, real);
  EXPECT_EQ(verdict.outcome, Outcome::inconclusive);
  EXPECT_EQ(verdict.doubts, (std::vector<Doubt>{{DoubtKind::other_calibration, "", 0.95, 0.8}}));
}

TEST(Evidence, real_inputs_may_fit_less_than_made_up_ones) {
  Evidence real = quantized(0.6);
  EXPECT_EQ(outcome({}, real), Outcome::inconclusive);
  real.real_inputs = true;
  EXPECT_EQ(outcome({}, real), Outcome::pass);
}

TEST(Evidence, limits_that_made_up_inputs_nearly_keep_prove_nothing) {
  Failure near = broken;
  near.value = 14;
  const Verdict verdict = make_verdict({limit}, {near}, quantized(0.1));
  EXPECT_EQ(verdict.outcome, Outcome::inconclusive);
  EXPECT_EQ(verdict.doubts, (std::vector<Doubt>{{DoubtKind::near_limit, "", 8}}));
  EXPECT_THAT(doubt_text(verdict.doubts[0]), testing::HasSubstr("up to 8 dB better"));
  EXPECT_EQ(outcome({near}, {.half = true}), Outcome::inconclusive);
  EXPECT_EQ(outcome({broken}, {.half = true}), Outcome::fail);
  EXPECT_EQ(outcome({near}, {}), Outcome::fail);
  EXPECT_EQ(outcome({near}, {.real_inputs = true, .half = true}), Outcome::fail);
}

TEST(Evidence, the_worst_sample_fails_where_the_mean_would) {
  Failure worst = broken;
  worst.metric = "sqnr_db";
  worst.value = -2;
  EXPECT_EQ(outcome({worst}, quantized(0.3)), Outcome::fail);
  EXPECT_EQ(outcome({worst}, quantized(0.5)), Outcome::inconclusive);
}

TEST(Evidence, what_is_missing_fails_on_any_inputs) {
  EXPECT_EQ(outcome({missing}, quantized(0.95)), Outcome::fail);
}

TEST(Evidence, kept_limits_pass_only_where_the_figures_mean_something) {
  EXPECT_EQ(outcome({}, quantized(0.3)), Outcome::pass);
  EXPECT_EQ(outcome({}, quantized(0.41)), Outcome::inconclusive);
  EXPECT_EQ(outcome({}, quantized(0.3, 0.031)), Outcome::inconclusive);
  Evidence alike = quantized(0.3);
  alike.diversity = 0.001;
  EXPECT_EQ(outcome({}, alike), Outcome::inconclusive);
  alike.weights = weights_that_are(WeightEvidence::Answer::same);
  EXPECT_EQ(outcome({}, alike), Outcome::pass);
}

TEST(Evidence, one_range_far_too_narrow_is_doubtful_on_made_up_inputs_that_fit_the_others) {
  Evidence narrow = quantized(0.3);
  narrow.calibration->most_overflowed = "conv2";
  narrow.calibration->overflow = 3.6;
  EXPECT_EQ(make_verdict({limit}, {}, narrow).doubts,
            (std::vector<Doubt>{{DoubtKind::narrow_range, "conv2", 3.6, most_overflow}}));
  narrow.real_inputs = true;  // the outputs themselves tell how good it is
  EXPECT_EQ(outcome({}, narrow), Outcome::pass);
}

TEST(Evidence, a_quantized_model_without_an_activation_function_does_not_pass) {
  Evidence evidence = quantized(0.3);
  evidence.real_inputs = true;
  evidence.missing =
      MissingActivations{.op = "Relu", .reference = 7, .candidate = 5, .quantizers = 1};
  const Verdict verdict = make_verdict({limit}, {}, evidence);
  EXPECT_EQ(verdict.outcome, Outcome::inconclusive);
  EXPECT_EQ(verdict.doubts, (std::vector<Doubt>{{DoubtKind::missing_activation, "Relu", 6, 7}}));
}

TEST(Evidence, batch_norms_tell_where_no_quantizer_does) {
  Evidence evidence{.quantized = true, .norms = NormFit{.score = 0.1, .norms = 30}};
  EXPECT_EQ(outcome({broken}, evidence), Outcome::fail);
  EXPECT_EQ(outcome({}, evidence), Outcome::pass);
  evidence.norms->score = 0.2;
  EXPECT_EQ(outcome({broken}, evidence), Outcome::inconclusive);
  EXPECT_EQ(make_verdict({limit}, {}, evidence).doubts,
            (std::vector<Doubt>{{DoubtKind::unlike_training, "", 0.2, fitting_norm_score}}));
}

TEST(Evidence, limits_of_ones_own_are_judged_as_they_are) {
  Evidence own = quantized(0.95);
  own.own_limits = true;
  EXPECT_EQ(outcome({broken}, own), Outcome::fail);
  EXPECT_EQ(outcome({}, own), Outcome::pass);
}

TEST(Evidence, diversity_is_the_share_of_what_changes_from_sample_to_sample) {
  const auto diversity = [](const std::vector<float>& values) {
    Diversity measured;
    for (const float value : values)
      measured.add(tensor_of<float>("y", DType::f32, {1}, std::vector<float>{value}));
    return measured.value();
  };
  EXPECT_EQ(diversity({2, 2, 2}), 0);
  EXPECT_EQ(diversity({1, -1}), 1);
  EXPECT_DOUBLE_EQ(diversity({1, 3}), 0.2);
  EXPECT_EQ(diversity({5}), 1);
}

TEST(Evidence, samples_of_other_sizes_are_no_constant) {
  Diversity diversity;
  const auto add = [&](std::int64_t size) {
    diversity.add(tensor_of<float>("y", DType::f32, {size}, std::vector<float>(size)));
  };
  add(2);
  add(2);
  EXPECT_TRUE(diversity.is_constant());
  add(3);
  EXPECT_FALSE(diversity.is_constant());
}

TEST(Evidence, the_input_of_a_final_activation_is_found_behind_what_only_carries_it) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1, ""}, {4, ""}})
      .node("Neg", {"x"}, {"logits"})
      .node("Softmax", {"logits"}, {"p"})
      .node("Identity", {"p"}, {"y"})
      .node("Relu", {"x"}, {"z"})
      .output("y", DType::f32, {{1, ""}, {4, ""}})
      .output("z", DType::f32, {{1, ""}, {4, ""}});
  const Model model = builder.model();
  EXPECT_THAT(find_final_activations(ModelIndex(model)),
              ElementsAre(FinalActivation{"y", "logits", true, "Softmax", 1}));
  EXPECT_EQ(with_outputs(model, {"logits"}).graph().output_size(), 3);
  EXPECT_EQ(with_outputs(model, {"z"}).graph().output_size(), 2);
}

// A branch that passes a Sigmoid on, beside one that has another: no tensor goes into both.
TEST(Evidence, final_activations_are_found_behind_an_if) {
  const auto branch = [](const std::string& op, const std::string& from) {
    return GraphBuilder(op).node(op, {from}, {op + "_y"}).output(op + "_y");
  };
  const auto model = [&](const std::string& then_op, const std::string& then_from,
                         const std::string& else_op) {
    return GraphBuilder()
        .input("x", DType::f32, {{1}, {4}})
        .input("which", DType::boolean, {})
        .node("Neg", {"x"}, {"logits"})
        .node("Sigmoid", {"logits"}, {"p"})
        .node("If", {"which"}, {"y"},
              {graph_attribute("then_branch", branch(then_op, then_from)),
               graph_attribute("else_branch", branch(else_op, "p"))})
        .output("y", DType::f32, {{1}, {4}})
        .model();
  };
  EXPECT_THAT(find_final_activations(ModelIndex(model("Flatten", "p", "Identity"))),
              ElementsAre(FinalActivation{"y", "logits", true, "Sigmoid"}));
  EXPECT_THAT(find_final_activations(ModelIndex(model("Sigmoid", "x", "Identity"))),
              ElementsAre(FinalActivation{.output = "y", .op = "Sigmoid"}));
  EXPECT_THAT(find_final_activations(ModelIndex(model("Softmax", "x", "Identity"))), IsEmpty());
  EXPECT_THAT(find_final_activations(ModelIndex(model("Relu", "x", "Identity"))), IsEmpty());
}

TEST(Evidence, nan_of_the_reference_on_made_up_inputs_proves_nothing) {
  const auto nonfinite = [](const std::string& metric, double count) {
    return Failure{.subject = "y",
                   .group = "output",
                   .metric = metric,
                   .value = count,
                   .kind = FailureKind::nonfinite};
  };
  const Failure unmeasured{.subject = "y", .metric = "sqnr_db_mean", .limit = limit};
  const std::vector<Failure> both = {nonfinite("reference_nan", 3), nonfinite("candidate_nan", 3),
                                     unmeasured};
  const Verdict verdict = make_verdict({limit}, both, Evidence());
  EXPECT_EQ(verdict.outcome, Outcome::inconclusive);
  ASSERT_EQ(verdict.doubts.size(), 1);
  EXPECT_EQ(verdict.doubts[0].kind, DoubtKind::unknown_reference);
  EXPECT_EQ(verdict.doubts[0].subject, "y");
  EXPECT_EQ(outcome(both, {.real_inputs = true}), Outcome::fail);
  EXPECT_EQ(outcome(both, {.own_limits = true}), Outcome::fail);
  // What the reference knows is judged all the same, and NaN that only the candidate has.
  EXPECT_EQ(outcome({both[0], both[1], both[2], missing}, {}), Outcome::fail);
  EXPECT_EQ(outcome({both[0], nonfinite("candidate_nan", 4), unmeasured}, {}), Outcome::fail);
  EXPECT_EQ(outcome({both[1], unmeasured}, {}), Outcome::fail);
}

}  // namespace
}  // namespace vernier
