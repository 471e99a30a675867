#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/cli/run.h"
#include "tests/injected_faults.h"
#include "tests/temporary_directory.h"

namespace vernier {
namespace {

using testing::expect_error;
using testing::expect_valid_json;
using ::testing::HasSubstr;
using testing::Outcome;
using testing::run_vernier;

const std::string mnist = VERNIER_FIXTURES "/mnist/";

// In exact arithmetic: what this CPU's kernels make of it is no part of the answer.
Outcome diagnose(const std::string& candidate, const std::string& reference,
                 const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {
      "diagnose", candidate,   reference, "--data", mnist + "mnist_inputs.npz",
      "--exact",  "--samples", "12"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_vernier(arguments);
}

struct Cause {
  std::string kind, subject, text;
};

Cause cause_of(const Outcome& outcome) {
  const auto json = nlohmann::json::parse(outcome.out);
  return {json["cause"]["kind"], json["cause"]["subject"], json["cause"]["text"]};
}

std::string answer_of(const Outcome& outcome, const std::string& question) {
  const auto json = nlohmann::json::parse(outcome.out);
  for (const auto& answer : json["answers"])
    if (answer["question"] == question) return answer["answer"];
  return "";
}

// A model of the fixtures with a change in it.
template <typename Change>
std::string changed(const TemporaryDirectory& folder, const std::string& name, Change change) {
  Model model = Model::load(mnist + name);
  change(model);
  const auto path = folder / "changed.onnx";
  model.save(path);
  return path.string();
}

TEST(DiagnoseCommand, a_right_quantized_model_passes_and_the_rest_is_not_asked) {
  const Outcome outcome = diagnose(mnist + "mnist_cnn.int8.onnx", mnist + "mnist_cnn.onnx");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  testing::expect_golden("diagnose_pass.txt", outcome.out);
}

TEST(DiagnoseCommand, json_keeps_its_schema_and_is_the_same_every_time) {
  const std::vector<std::string> json = {"-f", "json"};
  const Outcome first = diagnose(mnist + "mnist_cnn.int8.onnx", mnist + "mnist_cnn.onnx", json);
  const Outcome second = diagnose(mnist + "mnist_cnn.int8.onnx", mnist + "mnist_cnn.onnx", json);
  expect_valid_json("diagnose", first.out);
  EXPECT_EQ(first.out, second.out);
  EXPECT_EQ(cause_of(first).kind, "none");
}

TEST(DiagnoseCommand, a_weight_of_another_network_is_the_cause_and_ends_the_questions) {
  const TemporaryDirectory folder;
  const std::string rolled = changed(folder, "mnist_cnn.int8.onnx", roll_weight);
  const Outcome outcome = diagnose(rolled, mnist + "mnist_cnn.onnx", {"-f", "json"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_EQ(cause_of(outcome).kind, "other_weights");
  EXPECT_THAT(cause_of(outcome).text, HasSubstr("steps off"));
  EXPECT_EQ(answer_of(outcome, "place"), "not_asked");
}

TEST(DiagnoseCommand, a_removed_activation_of_a_float_model_is_found_at_its_layer) {
  const TemporaryDirectory folder;
  const std::string without = changed(folder, "mnist_cnn.onnx", remove_activation);
  const Outcome outcome = diagnose(without, mnist + "mnist_cnn.onnx", {"-f", "json"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_EQ(cause_of(outcome).kind, "drift_origin");
  EXPECT_EQ(cause_of(outcome).subject, "/layer1/layer1.0/relu/Relu_output_0");
  EXPECT_THAT(cause_of(outcome).text, HasSubstr("missing_or_extra_op"));
}

TEST(DiagnoseCommand, another_epsilon_is_found_at_its_layer_and_proven_by_putting_it_right) {
  const TemporaryDirectory folder;
  const std::string other = changed(folder, "mnist_vit.onnx", [](Model& model) {
    for (auto& node : *model.graph().mutable_node())
      if (node.op_type() == "Sqrt") {
        node.set_op_type("Abs");
        break;
      }
  });
  const Outcome outcome = diagnose(other, mnist + "mnist_vit.onnx", {"-f", "json"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["cause"]["kind"], "drift_origin");
  ASSERT_EQ(json["remedies"].size(), 1U);
  EXPECT_EQ(json["remedies"][0]["kind"], "right_layer");
  EXPECT_GT(json["remedies"][0]["after_db"], 90);
}

TEST(DiagnoseCommand, a_model_that_does_not_run_is_the_answer) {
  const Outcome outcome =
      diagnose(VERNIER_FIXTURES "/bad/unknown_op.onnx", mnist + "mnist_cnn.onnx", {"-f", "json"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_EQ(cause_of(outcome).kind, "candidate_unsound");
  EXPECT_EQ(cause_of(outcome).subject, "unknown-operator");
  EXPECT_EQ(answer_of(outcome, "outputs"), "not_asked");
}

TEST(DiagnoseCommand, quick_asks_the_first_five_questions) {
  const TemporaryDirectory folder;
  const std::string without = changed(folder, "mnist_cnn.onnx", remove_activation);
  const Outcome outcome = diagnose(without, mnist + "mnist_cnn.onnx", {"--quick", "-f", "json"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_EQ(answer_of(outcome, "outputs"), "bad");
  EXPECT_EQ(answer_of(outcome, "place"), "not_asked");
}

TEST(DiagnoseCommand, a_file_that_is_not_there_is_an_error) {
  expect_error(diagnose("none.onnx", mnist + "mnist_cnn.onnx"), "none.onnx");
  expect_error(run_vernier({"diagnose", mnist + "mnist_cnn.onnx"}), "--reference");
}

}  // namespace
}  // namespace vernier
