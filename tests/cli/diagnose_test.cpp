#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <sstream>
#include <tuple>

#include "tests/cli/run.h"
#include "tests/fixture.h"
#include "tests/injected_faults.h"
#include "tests/model_builder.h"
#include "tests/shared_data.h"
#include "tests/temporary_directory.h"
#include "vernier/model/convert_fp16.h"
#include "vernier/model/edit.h"

namespace vernier {
namespace {

using testing::CompletedProcess;
using testing::expect_error;
using testing::expect_valid_json;
using ::testing::HasSubstr;
using testing::read_text;
using testing::run_vernier;

// In exact arithmetic: what this CPU's kernels make of it is no part of the answer.
CompletedProcess diagnose(const std::string& candidate, const std::string& reference,
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

Cause cause_of(const CompletedProcess& outcome) {
  const auto json = nlohmann::json::parse(outcome.out);
  return {json["cause"]["kind"], json["cause"]["subject"], json["cause"]["text"]};
}

std::string answer_of(const CompletedProcess& outcome, const std::string& question) {
  const auto json = nlohmann::json::parse(outcome.out);
  for (const auto& answer : json["answers"])
    if (answer["question"] == question) return answer["answer"];
  return "";
}

// Two more operators behind what the model called logits.
void add_decoding(Model& model) {
  vernier_onnx::GraphProto& graph = model.graph();
  graph.mutable_node()->rbegin()->set_output(0, "raw");
  for (const auto& [op, input, output] :
       {std::tuple{"Exp", "raw", "exponent"}, std::tuple{"Sqrt", "exponent", "logits"}}) {
    vernier_onnx::NodeProto& node = *graph.add_node();
    node = make_node(op);
    node.add_input(input);
    node.add_output(output);
  }
}

// A model of the fixtures with a change in it.
template <typename Change>
std::string changed(const TemporaryDirectory& folder, const std::string& name, Change change,
                    const std::string& file = "changed.onnx") {
  Model model = Model::load(mnist + name);
  change(model);
  const auto path = folder / file;
  model.save(path);
  return path.string();
}

TEST(DiagnoseCommand, a_right_quantized_model_passes_and_the_rest_is_not_asked) {
  const CompletedProcess outcome =
      diagnose(mnist + "mnist_cnn.int8.onnx", mnist + "mnist_cnn.onnx");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  testing::expect_golden("diagnose_pass.txt", outcome.out);
}

TEST(DiagnoseCommand, json_keeps_its_schema_and_is_the_same_every_time) {
  const std::vector<std::string> json = {"-f", "json"};
  const CompletedProcess first =
      diagnose(mnist + "mnist_cnn.int8.onnx", mnist + "mnist_cnn.onnx", json);
  const CompletedProcess second =
      diagnose(mnist + "mnist_cnn.int8.onnx", mnist + "mnist_cnn.onnx", json);
  expect_valid_json("diagnose", first.out);
  EXPECT_EQ(first.out, second.out);
  EXPECT_EQ(cause_of(first).kind, "none");
}

TEST(DiagnoseCommand, a_weight_of_another_network_is_the_cause_and_ends_the_questions) {
  const TemporaryDirectory folder;
  const std::string rolled = changed(folder, "mnist_cnn.int8.onnx", roll_weight);
  const CompletedProcess outcome = diagnose(rolled, mnist + "mnist_cnn.onnx", {"-f", "json"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_EQ(cause_of(outcome).kind, "other_weights");
  EXPECT_THAT(cause_of(outcome).text, HasSubstr("steps off"));
  EXPECT_EQ(answer_of(outcome, "place"), "not_asked");
}

// The line that names the cause, as the terminal shows it.
std::string cause_line(const CompletedProcess& outcome) {
  const std::size_t start = outcome.out.find("cause: ");
  return start == std::string::npos
             ? ""
             : outcome.out.substr(start, outcome.out.find('\n', start) - start);
}

// Made-up inputs are not enough to tell what the changed scale costs.
TEST(DiagnoseCommand, a_scale_that_the_bias_behind_it_was_not_made_for_is_the_cause) {
  const TemporaryDirectory folder;
  const std::string scaled = changed(folder, "mnist_cnn.int8.onnx", [](Model& model) {
    scale_constant(model, "/stem/Conv_output_0_scale", 1.3F);
  });
  const CompletedProcess outcome =
      run_vernier({"diagnose", scaled, mnist + "mnist_cnn.onnx", "--exact", "--samples", "12"});
  EXPECT_EQ(outcome.exit_code, 3) << outcome.err;
  EXPECT_EQ(
      cause_line(outcome),
      "cause: the input scale of /layer1/layer1.0/relu/Relu_output_0 was changed: its bias was "
      "quantized for another");
  EXPECT_THAT(outcome.out, HasSubstr("has 0.769 times the scale of the products"));
}

TEST(DiagnoseCommand, nan_of_a_quantized_model_is_the_cause_where_it_begins) {
  const TemporaryDirectory folder;
  for (const auto& [node, tensor] : {std::pair{"logits_DequantizeLinear", "logits"},
                                     std::pair{"/stem/Conv", "/stem/Conv_output_0"}}) {
    SCOPED_TRACE(tensor);
    const std::string rooted = changed(folder, "mnist_cnn.int8.onnx", [&](Model& model) {
      insert_after(model, node, {make_node("Sqrt")});
    });
    const CompletedProcess outcome = diagnose(rooted, mnist + "mnist_cnn.onnx");
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    EXPECT_EQ(cause_line(outcome),
              std::string("cause: NaN or infinity begins in the candidate's ") + tensor);
  }
}

// The logits times 3e4 twice, without their mean, and back: too large for float16 on the way. The
// Gather is computed in float16; what ONNX Runtime computes in float32 does not overflow.
void add_large_values(Model& model) {
  vernier_onnx::GraphProto& graph = model.graph();
  graph.mutable_node()->rbegin()->set_output(0, "raw");
  for (const auto& [name, value] : {std::pair{"up", 3e4F}, std::pair{"down", 1 / 3e4F}})
    *graph.add_initializer() =
        make_tensor_proto(tensor_of<float>(name, DType::f32, {}, std::vector{value}));
  std::vector<std::int64_t> classes(10);
  std::iota(classes.begin(), classes.end(), 0);
  *graph.add_initializer() = make_tensor_proto(tensor_of("classes", DType::i64, {10}, classes));
  const auto add = [&](const char* op, const std::vector<std::string>& inputs, const char* output) {
    vernier_onnx::NodeProto& node = *graph.add_node();
    node = make_node(op);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
  };
  add("Mul", {"raw", "up"}, "large");
  add("Mul", {"large", "up"}, "overflow");
  add("Gather", {"overflow", "classes"}, "gathered");
  *graph.mutable_node()->rbegin()->add_attribute() = int_attribute("axis", 1);
  add("ReduceMean", {"gathered"}, "mean");
  add("Sub", {"gathered", "mean"}, "centred");
  add("Mul", {"centred", "down"}, "smaller");
  add("Mul", {"smaller", "down"}, "logits");
}

TEST(DiagnoseCommand, an_overflow_of_float16_is_the_cause_where_it_begins) {
  const TemporaryDirectory folder;
  const std::string reference = changed(folder, "mnist_cnn.onnx", add_large_values, "large.onnx");
  const std::string half = (folder / "half.onnx").string();
  convert_to_fp16(Model::load(reference)).model.save(half);
  const CompletedProcess outcome = diagnose(half, reference);
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_EQ(cause_line(outcome), "cause: NaN or infinity begins in the candidate's overflow")
      << outcome.out;
}

TEST(DiagnoseCommand, a_removed_activation_of_a_float_model_is_found_at_its_layer) {
  const TemporaryDirectory folder;
  const std::string without = changed(folder, "mnist_cnn.onnx", remove_activation);
  const CompletedProcess outcome = diagnose(without, mnist + "mnist_cnn.onnx", {"-f", "json"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_EQ(cause_of(outcome).kind, "drift_origin");
  EXPECT_EQ(cause_of(outcome).subject, "/layer1/layer1.0/relu/Relu_output_0");
  EXPECT_THAT(cause_of(outcome).text, HasSubstr("missing_or_extra_op"));
}

TEST(DiagnoseCommand, another_operator_is_found_at_its_layer_and_proven_by_putting_it_right) {
  const TemporaryDirectory folder;
  const std::string other = changed(folder, "mnist_vit.onnx", [](Model& model) {
    for (auto& node : *model.graph().mutable_node())
      if (node.op_type() == "Sqrt") {
        node.set_op_type("Abs");
        break;
      }
  });
  const CompletedProcess outcome = diagnose(other, mnist + "mnist_vit.onnx", {"-f", "json"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(json["cause"]["kind"], "drift_origin");
  ASSERT_EQ(json["remedies"].size(), 1U);
  EXPECT_EQ(json["remedies"][0]["kind"], "right_layer");
  EXPECT_GT(json["remedies"][0]["after_db"], 90);
  // Without the remedy, too, only the two samples count whose layers were compared.
  const CompletedProcess two =
      run_vernier({"diagnose", other, mnist + "mnist_vit.onnx", "--data",
                   mnist + "mnist_inputs.npz", "--exact", "--samples", "2", "-f", "json"});
  EXPECT_EQ(json["remedies"][0]["before_db"],
            nlohmann::json::parse(two.out)["remedies"][0]["before_db"]);
}

// Calibrated by ONNX Runtime on pictures of 0 to 255, where the model takes 0 to 1.
TEST(DiagnoseCommand, another_calibration_is_the_cause_and_the_command_it_prints_mends_it) {
  const TemporaryDirectory folder;
  const std::string data = mnist + "mnist_inputs.npz";
  const CompletedProcess outcome =
      run_vernier({"diagnose", mnist + "mnist_cnn.int8_unscaled.onnx", mnist + "mnist_cnn.onnx",
                   "--data", data, "--exact", "-f", "json"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_EQ(cause_of(outcome).kind, "other_calibration");
  expect_valid_json("diagnose", outcome.out);
  const auto remedy = nlohmann::json::parse(outcome.out)["remedies"][0];
  EXPECT_EQ(remedy["kind"], "ranges");
  EXPECT_LT(remedy["before_db"], 0);
  EXPECT_GT(remedy["after_db"], 20);
  EXPECT_EQ(remedy["command"],
            "vernier repair " + mnist + "mnist_cnn.int8_unscaled.onnx --reference " + mnist +
                "mnist_cnn.onnx --data " + data + " -o mnist_cnn.int8_unscaled.repaired.onnx");
  const std::string repaired = (folder / "repaired.onnx").string();
  EXPECT_EQ(run_vernier({"repair", mnist + "mnist_cnn.int8_unscaled.onnx", "--reference",
                         mnist + "mnist_cnn.onnx", "--data", data, "-o", repaired})
                .exit_code,
            0);
  EXPECT_EQ(diagnose(repaired, mnist + "mnist_cnn.onnx").exit_code, 0);
}

TEST(DiagnoseCommand, one_range_that_is_wrong_is_no_other_calibration) {
  const TemporaryDirectory folder;
  const std::string narrow = changed(folder, "mnist_cnn.int8.onnx", [](Model& model) {
    for (const auto& node : model.graph().node())
      if (node.op_type() == "QuantizeLinear" && node.input(0) == "/stem/Conv_output_0")
        edit_weight(model, node.input(1), [](std::span<float> scale) { scale[0] /= 6; });
  });
  const CompletedProcess outcome =
      run_vernier({"diagnose", narrow, mnist + "mnist_cnn.onnx", "--data",
                   mnist + "mnist_inputs.npz", "--exact", "-f", "json"});
  EXPECT_NE(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(cause_of(outcome).kind, "wrong_range");
  EXPECT_EQ(cause_of(outcome).subject, "/stem/Conv_output_0");
  const auto remedy = nlohmann::json::parse(outcome.out)["remedies"][0];
  EXPECT_GT(remedy["after_db"], 20);
  EXPECT_THAT(remedy["command"].get<std::string>(), ::testing::StartsWith("vernier repair "));
}

// Words of a command line as the shell takes them; only quotes that stand around a word's end.
std::vector<std::string> words_of(const std::string& command) {
  std::vector<std::string> words;
  std::istringstream text(command);
  for (std::string word; text >> word;) {
    std::erase(word, '\'');
    words.push_back(word);
  }
  return words;
}

TEST(DiagnoseCommand, nodes_to_keep_in_float_come_with_a_command_that_keeps_them) {
  const TemporaryDirectory folder;
  const std::string wide = changed(folder, "mnist_cnn.int8.onnx", [](Model& model) {
    for (const auto& node : model.graph().node())
      if (node.op_type() == "QuantizeLinear" && node.input(0) == "/stem/Conv_output_0")
        edit_weight(model, node.input(1), [](std::span<float> scale) { scale[0] *= 30; });
  });
  const CompletedProcess outcome =
      run_vernier({"diagnose", wide, mnist + "mnist_cnn.onnx", "--data", mnist + "mnist_inputs.npz",
                   "--exact", "-f", "json"});
  const auto json = nlohmann::json::parse(outcome.out);
  const auto remedy = std::ranges::find_if(
      json["remedies"], [](const auto& each) { return each["kind"] == "keep_in_float"; });
  ASSERT_NE(remedy, json["remedies"].end()) << outcome.out;
  std::vector<std::string> command = words_of((*remedy)["command"]);
  ASSERT_GT(command.size(), 3U);
  EXPECT_EQ(command[1], "tune");
  command.erase(command.begin());
  command.back() = (folder / "mixed.onnx").string();
  EXPECT_EQ(run_vernier(command).exit_code, 0);
  EXPECT_EQ(diagnose(command.back(), mnist + "mnist_cnn.onnx").exit_code, 0);
}

// Quantized by ONNX Runtime into QOperator nodes; the bias of what reads the tensor is stored in
// steps of its scale.
TEST(DiagnoseCommand, a_narrowed_range_of_a_qoperator_model_is_named_and_its_command_mends_it) {
  const TemporaryDirectory folder;
  for (const float factor : {0.5F, 1 / 6.0F}) {
    SCOPED_TRACE(factor);
    const std::string narrow = changed(folder, "mnist_cnn.int8_qoperator.onnx", [&](Model& model) {
      scale_constant(model, "/layer1/layer1.1/conv1/Conv_output_0_scale", factor);
    });
    const CompletedProcess outcome =
        run_vernier({"diagnose", narrow, mnist + "mnist_cnn.onnx", "--data",
                     mnist + "mnist_inputs.npz", "--exact", "-f", "json"});
    EXPECT_NE(outcome.exit_code, 0) << outcome.err;
    expect_valid_json("diagnose", outcome.out);
    EXPECT_EQ(cause_of(outcome).kind, "wrong_range");
    EXPECT_EQ(cause_of(outcome).text,
              "the range of the quantizer of /layer1/layer1.1/conv1/Conv_output_0_quantized is "
              "wrong");
    const auto remedy = nlohmann::json::parse(outcome.out)["remedies"][0];
    EXPECT_GT(remedy["after_db"], 25);
    std::vector<std::string> command = words_of(remedy["command"]);
    ASSERT_GT(command.size(), 3U);
    EXPECT_EQ(command[1], "repair");
    command.erase(command.begin());
    command.back() = (folder / "repaired.onnx").string();
    EXPECT_EQ(run_vernier(command).exit_code, 0);
    EXPECT_EQ(diagnose(command.back(), mnist + "mnist_cnn.onnx").exit_code, 0);
  }
}

// It explains whatever else differs, though nothing else in the file is unsound.
TEST(DiagnoseCommand, a_pair_whose_parameters_disagree_is_the_cause) {
  const TemporaryDirectory folder;
  const std::string other = changed(folder, "mnist_cnn.int8.onnx", [](Model& model) {
    vernier_onnx::TensorProto* scale = find_initializer(model, "/stem/Conv_output_0_scale");
    ASSERT_TRUE(scale);
    Tensor wider = model.tensor(*scale);
    wider.name = "another_scale";
    for (float& value : elements<float>(wider)) value *= 3;
    *model.graph().add_initializer() = make_tensor_proto(wider);
    for (auto& node : *model.graph().mutable_node())
      if (node.op_type() == "DequantizeLinear" && node.input(1) == "/stem/Conv_output_0_scale")
        node.set_input(1, "another_scale");
  });
  const CompletedProcess outcome = diagnose(other, mnist + "mnist_cnn.onnx", {"-f", "json"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_EQ(cause_of(outcome).kind, "candidate_unsound");
  EXPECT_EQ(cause_of(outcome).subject, "mismatched-pair");
}

// Between layers of one shape: no weight is missing, so that the comparison of weights is content.
TEST(DiagnoseCommand, swapped_weights_are_called_so) {
  const TemporaryDirectory folder;
  const auto swap_values = [](Model& model) {
    initializer(model, "onnx::Conv_83").set_name("swapped");
    initializer(model, "onnx::Conv_86").set_name("onnx::Conv_83");
    initializer(model, "swapped").set_name("onnx::Conv_86");
  };
  const auto swap_readers = [](Model& model) {
    rewire(model, "onnx::Conv_83", "swapped");
    rewire(model, "onnx::Conv_86", "onnx::Conv_83");
    rewire(model, "swapped", "onnx::Conv_86");
  };
  struct Case {
    std::string candidate, reference, text;
  };
  for (const auto& [candidate, reference, text] :
       {Case{changed(folder, "mnist_cnn.onnx", swap_values, "values.onnx"), "mnist_cnn.onnx",
             "the weights of onnx::Conv_83 and onnx::Conv_86 are swapped: onnx::Conv_83 holds the "
             "reference's onnx::Conv_86 instead of onnx::Conv_83"},
        Case{changed(folder, "mnist_cnn.onnx", swap_readers, "readers.onnx"), "mnist_cnn.onnx",
             "the weights of onnx::Conv_86 and onnx::Conv_83 are swapped: onnx::Conv_86 holds the "
             "reference's onnx::Conv_86 instead of onnx::Conv_83"}}) {
    SCOPED_TRACE(candidate);
    const CompletedProcess outcome = diagnose(candidate, mnist + reference, {"-f", "json"});
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    expect_valid_json("diagnose", outcome.out);
    EXPECT_EQ(cause_of(outcome).kind, "swapped_weights");
    EXPECT_EQ(cause_of(outcome).text, text);
    EXPECT_EQ(nlohmann::json::parse(outcome.out)["remedies"][0]["after_db"], "inf");
  }
}

TEST(DiagnoseCommand, a_transposed_square_weight_is_called_so) {
  const TemporaryDirectory folder;
  struct Case {
    std::string candidate, reference, weight;
  };
  for (const auto& [candidate, reference, weight] :
       {Case{"mnist_vit.onnx", "mnist_vit.onnx", "onnx::MatMul_384"},
        Case{"mnist_vit.int8.onnx", "mnist_vit.float.onnx", "onnx::MatMul_384_quantized"}}) {
    SCOPED_TRACE(candidate);
    const std::string transposed = changed(folder, candidate, [&](Model& model) {
      vernier_onnx::TensorProto& proto = initializer(model, weight);
      const Tensor stored = model.tensor(proto);
      Tensor swapped = copy(stored.view());
      const std::int64_t width = stored.shape[0], size = std::ssize(stored.bytes) / stored.size();
      for (std::int64_t i = 0; i < stored.size(); ++i)
        std::copy_n(stored.bytes.begin() + i * size, size,
                    swapped.bytes.begin() + (i % width * width + i / width) * size);
      proto = make_tensor_proto(swapped);
    });
    const CompletedProcess outcome = diagnose(transposed, mnist + reference, {"-f", "json"});
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    expect_valid_json("diagnose", outcome.out);
    EXPECT_EQ(cause_of(outcome).kind, "transposed_weight");
    EXPECT_EQ(cause_of(outcome).subject, weight);
    EXPECT_EQ(answer_of(outcome, "weights"), "bad");
    const auto remedy = nlohmann::json::parse(outcome.out)["remedies"][0];
    EXPECT_EQ(remedy["kind"], "right_axes");
    if (candidate == reference)
      EXPECT_EQ(remedy["after_db"], "inf");
    else
      EXPECT_GT(remedy["after_db"], 15);
  }
}

// As on both sides of a Reshape: changed for one of them alone, the other still cuts off.
TEST(DiagnoseCommand, a_scale_that_several_tensors_share_is_changed_for_all_of_them) {
  const TemporaryDirectory folder;
  const std::string narrow = changed(folder, "mnist_vit.int8.onnx", [](Model& model) {
    edit_weight(model, "/patch/Conv_output_0_scale", [](std::span<float> scale) { scale[0] /= 8; });
  });
  const CompletedProcess outcome = diagnose(narrow, mnist + "mnist_vit.float.onnx", {"-f", "json"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_EQ(cause_of(outcome).kind, "wrong_range");
  const auto remedies = nlohmann::json::parse(outcome.out)["remedies"];
  const auto range =
      std::ranges::find_if(remedies, [](const auto& remedy) { return remedy["kind"] == "range"; });
  ASSERT_NE(range, remedies.end()) << outcome.out;
  EXPECT_GT((*range)["after_db"], double{(*range)["before_db"]} + 10) << *range;
}

TEST(DiagnoseCommand, a_zero_point_that_undoes_a_relu_is_called_so) {
  const TemporaryDirectory folder;
  const std::string relu = "/layer1/layer1.0/relu_1/Relu_output_0";
  const std::string shifted = changed(folder, "mnist_cnn.int8.onnx", [&](Model& model) {
    vernier_onnx::TensorProto& proto = initializer(model, relu + "_zero_point");
    Tensor zero = model.tensor(proto);
    elements<std::uint8_t>(zero)[0] += 60;
    proto = make_tensor_proto(zero);
  });
  const CompletedProcess outcome = diagnose(shifted, mnist + "mnist_cnn.onnx", {"-f", "json"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_EQ(cause_of(outcome).kind, "wrong_range");
  EXPECT_EQ(cause_of(outcome).subject, relu);
  EXPECT_THAT(cause_of(outcome).text,
              HasSubstr("replaces a Relu or Clip of the reference, but its range begins at -1.7 "
                        "instead of 0"));
  EXPECT_FALSE(nlohmann::json::parse(outcome.out)["remedies"].empty());
}

TEST(DiagnoseCommand, another_number_in_a_quantized_constant_is_no_quantization) {
  const TemporaryDirectory folder;
  const std::string half = "/blocks.2/mlp/mlp.1/Constant_2_output_0";
  const std::string other = changed(folder, "mnist_vit.int8.onnx", [&](Model& model) {
    edit_weight(model, half + "_scale", [](std::span<float> scale) { scale[0] *= 2; });
  });
  const CompletedProcess outcome = diagnose(other, mnist + "mnist_vit.float.onnx", {"-f", "json"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_EQ(cause_of(outcome).kind, "other_structure");
  EXPECT_THAT(cause_of(outcome).text, HasSubstr(half + " is 1; in the reference it is 0.5"));
}

// y = 2 a - b, and z = a + b.
Model two_inputs() {
  GraphBuilder builder;
  builder.input("a", DType::f32, {{-1, "batch"}, {3}}).input("b", DType::f32, {{-1, "batch"}, {3}});
  builder.weight(tensor_of<float>("two", DType::f32, {}, {2}))
      .node("Mul", {"a", "two"}, {"m"})
      .node("Sub", {"m", "b"}, {"y"})
      .node("Add", {"a", "b"}, {"z"})
      .output("y")
      .output("z");
  return builder.model();
}

TEST(DiagnoseCommand, swapped_inputs_and_outputs_are_called_so) {
  const TemporaryDirectory folder;
  const Model reference = two_inputs();
  reference.save(folder / "reference.onnx");
  Model inputs = reference.clone(), outputs = reference.clone();
  for (auto& node : *inputs.graph().mutable_node())
    for (auto& input : *node.mutable_input())
      if (input == "a" || input == "b") input = input == "a" ? "b" : "a";
  for (auto& node : *outputs.graph().mutable_node())
    for (auto& output : *node.mutable_output())
      if (output == "y" || output == "z") output = output == "y" ? "z" : "y";
  struct Case {
    const Model& candidate;
    std::string kind, text, remedy;
  };
  for (const auto& [candidate, kind, text, remedy] :
       {Case{inputs, "swapped_inputs", "the candidate's inputs a and b are swapped",
             "--map-input a=b --map-input b=a"},
        Case{outputs, "swapped_outputs", "the candidate's outputs y and z are swapped",
             "--map-output y=z --map-output z=y"}}) {
    SCOPED_TRACE(kind);
    candidate.save(folder / "candidate.onnx");
    const CompletedProcess outcome = run_vernier(
        {"diagnose", folder / "candidate.onnx", folder / "reference.onnx", "-f", "json"});
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    expect_valid_json("diagnose", outcome.out);
    EXPECT_EQ(cause_of(outcome).kind, kind);
    EXPECT_EQ(cause_of(outcome).text, text);
    const auto found = nlohmann::json::parse(outcome.out)["remedies"][0];
    EXPECT_THAT(found["text"], HasSubstr(remedy));
    EXPECT_EQ(found["after_db"], "inf");
  }
}

TEST(DiagnoseCommand, outputs_of_the_same_names_in_another_order_pass_with_a_warning) {
  const TemporaryDirectory folder;
  Model model = two_inputs();
  model.save(folder / "reference.onnx");
  model.graph().mutable_output()->SwapElements(0, 1);
  model.save(folder / "candidate.onnx");
  const CompletedProcess outcome =
      run_vernier({"diagnose", folder / "candidate.onnx", folder / "reference.onnx"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("warning: the candidate's outputs are in another order, z, y "
                                     "for the reference's y, z"));
}

// The quantizer stands for the Relu behind an Add: a range below zero would undo it.
// Statistics move while a model is exported in training mode: they are no wrong weights.
TEST(DiagnoseCommand, a_model_in_training_mode_is_called_so) {
  TemporaryDirectory folder;
  const auto save = [&](const std::string& name, bool training, float mean) {
    GraphBuilder graph;
    graph.input("x", DType::f32, {{1}, {2}, {4}, {4}}).output("y");
    graph.weight(tensor_of<float>("factors", DType::f32, {2}, {1.5F, -0.5F}))
        .weight(tensor_of<float>("offsets", DType::f32, {2}, {0.25F, 0.5F}))
        .weight(tensor_of<float>("mean", DType::f32, {2}, {mean, 2 * mean}))
        .weight(tensor_of<float>("variance", DType::f32, {2}, {2, 3}));
    std::vector<std::string> outputs = {"norm"};
    if (training) outputs.insert(outputs.end(), {"new_mean", "new_variance"});
    graph.node("Mul", {"x", "x"}, {"square"})
        .node("BatchNormalization", {"square", "factors", "offsets", "mean", "variance"}, outputs,
              {int_attribute("training_mode", training ? 1 : 0)})
        .node("Relu", {"norm"}, {"y"});
    graph.model().save(folder / name);
    return (folder / name).string();
  };
  const std::string reference = save("reference.onnx", false, 4);
  const CompletedProcess outcome = run_vernier({"diagnose", save("candidate.onnx", true, 4.01F),
                                                reference, "--inputs", "normal", "-f", "json"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  expect_valid_json("diagnose", outcome.out);
  EXPECT_EQ(cause_of(outcome).kind, "candidate_unsound");
  EXPECT_EQ(cause_of(outcome).subject, "training-batchnorm");
  EXPECT_THAT(outcome.out, HasSubstr("in inference mode: model.eval() before the export"));
}

TEST(DiagnoseCommand, a_better_range_keeps_the_relu_that_was_folded_into_it) {
  const TemporaryDirectory folder;
  const std::string relu = "/layer1/layer1.1/relu_1/Relu_output_0";
  const std::string narrow = changed(folder, "mnist_cnn.int8.onnx", [&](Model& model) {
    for (const auto& node : model.graph().node())
      if (node.op_type() == "QuantizeLinear" && node.input(0) == relu)
        edit_weight(model, node.input(1), [](std::span<float> scale) { scale[0] /= 5; });
  });
  const CompletedProcess outcome =
      run_vernier({"debug", narrow, "--reference", mnist + "mnist_cnn.onnx", "--input-data",
                   mnist + "mnist_inputs.npz", "--samples", "32", "--exact", "-f", "json"});
  const auto remedies = nlohmann::json::parse(outcome.out)["sensitivity"]["remedies"];
  const auto range = std::ranges::find_if(remedies, [&](const auto& remedy) {
    return remedy["remedy"] == "range" && remedy["tensor"] == relu;
  });
  ASSERT_NE(range, remedies.end()) << outcome.out;
  EXPECT_EQ((*range)["range"][0], 0);
}

TEST(DiagnoseCommand, swapped_weights_of_a_quantized_model_are_called_so) {
  const TemporaryDirectory folder;
  const std::string swapped = changed(folder, "mnist_cnn.int8.onnx", [](Model& model) {
    for (const std::string ending : {"_quantized", "_scale", "_zero_point"}) {
      initializer(model, "onnx::Conv_83" + ending).set_name("swapped");
      initializer(model, "onnx::Conv_86" + ending).set_name("onnx::Conv_83" + ending);
      initializer(model, "swapped").set_name("onnx::Conv_86" + ending);
    }
  });
  const CompletedProcess outcome = diagnose(swapped, mnist + "mnist_cnn.onnx", {"-f", "json"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_EQ(cause_of(outcome).kind, "swapped_weights");
  EXPECT_EQ(cause_of(outcome).text,
            "the weights of onnx::Conv_83_quantized and onnx::Conv_86_quantized are swapped: "
            "onnx::Conv_83_quantized holds the reference's onnx::Conv_86 instead of onnx::Conv_83");
}

TEST(DiagnoseCommand, data_that_is_prepared_may_be_any_dataset_and_the_command_prepares_it_too) {
  const CompletedProcess outcome =
      run_vernier({"diagnose", mnist + "mnist_cnn.int8_unscaled.onnx", mnist + "mnist_cnn.onnx",
                   "--data", mnist + "mnist_labelled.npz", "--column", "image=input", "--mean", "0",
                   "--std", "1", "--no-shuffle", "--samples", "64", "--exact", "-f", "json"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_EQ(cause_of(outcome).kind, "other_calibration");
  const std::string command = nlohmann::json::parse(outcome.out)["remedies"][0]["command"];
  EXPECT_THAT(command, HasSubstr(" --dataset " + mnist + "mnist_labelled.npz "));
  for (const char* option : {" --column image=input ", " --mean 0 ", " --std 1 ", " --no-shuffle "})
    EXPECT_THAT(command, HasSubstr(option));
  expect_error(run_vernier({"diagnose", mnist + "mnist_cnn.int8.onnx", mnist + "mnist_cnn.onnx",
                            "--mean", "0.5"}),
               "--mean");
}

TEST(DiagnoseCommand, a_report_in_a_file_leaves_the_screen_to_the_answer) {
  const TemporaryDirectory folder;
  const std::string file = (folder / "report.json").string();
  const CompletedProcess outcome =
      diagnose(mnist + "mnist_cnn.int8.onnx", mnist + "mnist_cnn.onnx", {"-o", file, "--quick"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("cause: nothing is wrong"));
  EXPECT_THAT(outcome.out, HasSubstr("report: " + file));
  expect_valid_json("diagnose", testing::read_text(file));
}

TEST(DiagnoseCommand, a_model_that_does_not_run_is_the_answer) {
  const CompletedProcess outcome =
      diagnose(VERNIER_FIXTURES "/bad/unknown_op.onnx", mnist + "mnist_cnn.onnx", {"-f", "json"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_EQ(cause_of(outcome).kind, "candidate_unsound");
  EXPECT_EQ(cause_of(outcome).subject, "unknown-operator");
  EXPECT_EQ(answer_of(outcome, "outputs"), "not_asked");
}

// As where post-processing was left out of an export.
TEST(DiagnoseCommand, an_output_that_is_a_tensor_inside_the_reference_is_unfinished) {
  const TemporaryDirectory folder;
  const std::string cut = changed(folder, "mnist_cnn.onnx", [](Model&) {});
  const std::string whole = changed(folder, "mnist_cnn.onnx", add_decoding, "whole.onnx");
  const CompletedProcess outcome = diagnose(cut, whole, {"-f", "json"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_EQ(cause_of(outcome).kind, "unfinished_output");
  EXPECT_EQ(cause_of(outcome).subject, "logits");
  EXPECT_THAT(cause_of(outcome).text, HasSubstr("is the reference's raw"));
}

// A single one is paired by its place.
TEST(DiagnoseCommand, an_output_of_another_name_comes_with_the_option_that_pairs_it) {
  const TemporaryDirectory folder;
  Model model = Model::load(mnist + "mnist_cnn.onnx");
  expose_outputs(model, std::vector<std::string>{"/stem/Conv_output_0"});
  const std::string reference = folder / "reference.onnx", renamed = folder / "renamed.onnx";
  model.save(reference);
  model.graph().mutable_output(0)->set_name("scores");
  model.graph().mutable_node()->rbegin()->set_output(0, "scores");
  model.save(renamed);
  EXPECT_THAT(diagnose(renamed, reference).out,
              HasSubstr("if scores is it, pass --map-output logits=scores"));
  EXPECT_EQ(diagnose(renamed, reference, {"--map-output", "logits=scores"}).exit_code, 0);
}

// A bound that made-up inputs never reach.
TEST(DiagnoseCommand, a_node_that_is_not_the_references_is_a_doubt_without_data) {
  const TemporaryDirectory folder;
  Model model = Model::load(mnist + "mnist_cnn.onnx");
  for (auto& node : *model.graph().mutable_node())
    if (node.op_type() == "Relu") {
      node.set_op_type("LeakyRelu");
      auto& slope = *node.add_attribute();
      slope.set_name("alpha");
      slope.set_type(vernier_onnx::AttributeProto::FLOAT);
      slope.set_f(1e-9F);
      break;
    }
  model.save(folder / "other.onnx");
  const CompletedProcess outcome =
      run_vernier({"diagnose", folder / "other.onnx", mnist + "mnist_cnn.onnx", "-f", "json"});
  EXPECT_EQ(outcome.exit_code, 3) << outcome.out;
  EXPECT_EQ(cause_of(outcome).kind, "other_structure");
  EXPECT_THAT(cause_of(outcome).text, HasSubstr("differs from the reference's node in its place"));
  EXPECT_EQ(diagnose(folder / "other.onnx", mnist + "mnist_cnn.onnx").exit_code, 0);
}

TEST(DiagnoseCommand, quick_asks_the_first_five_questions) {
  const TemporaryDirectory folder;
  const std::string without = changed(folder, "mnist_cnn.onnx", remove_activation);
  const CompletedProcess outcome =
      diagnose(without, mnist + "mnist_cnn.onnx", {"--quick", "-f", "json"});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_EQ(answer_of(outcome, "outputs"), "bad");
  EXPECT_EQ(answer_of(outcome, "place"), "not_asked");
}

// Every fault that the tests can bring into a model, in a quantized one and in a float one; what a
// model has nothing to break for is left out.
TEST(DiagnoseCommand, every_injected_fault_has_its_cause) {
  const TemporaryDirectory folder;
  struct Expected {
    std::vector<std::string> quantized, floating;  // causes, any of which is true
  };
  const std::map<std::string, Expected> expected = {
      {"a weight rolled by a channel", {{"other_weights"}, {"other_weights"}}},
      {"a weight's scale x1.5", {{"other_weights"}, {}}},
      {"an activation's scale /4", {{"narrow_range", "wrong_range"}, {}}},
      {"pads on one side", {{"other_structure"}, {"drift_origin"}}},
      {"a residual removed", {{"other_structure"}, {"drift_origin"}}},
      {"another network's weights", {{"other_weights"}, {"other_weights"}}},
      {"an activation removed", {{"other_structure"}, {"drift_origin"}}},
      {"an output dropped", {{"unlike_outputs"}, {"unlike_outputs"}}}};
  for (const std::string name : {"mnist_cnn", "mnist_vit"})
    for (const bool quantized : {true, false})
      for (const InjectedFault& fault : injected_faults()) {
        Model model = Model::load(mnist + name + (quantized ? ".int8.onnx" : ".onnx"));
        if (!fault.inject(model)) continue;
        SCOPED_TRACE(name + (quantized ? " int8, " : " float, ") + fault.name);
        const std::string path = (folder / "faulty.onnx").string();
        model.save(path);
        const CompletedProcess outcome = diagnose(path, mnist + name + ".onnx", {"-f", "json"});
        EXPECT_NE(outcome.exit_code, 0) << outcome.err;
        const Expected& causes = expected.at(fault.name);
        EXPECT_THAT(quantized ? causes.quantized : causes.floating,
                    ::testing::Contains(cause_of(outcome).kind))
            << cause_of(outcome).text;
      }
}

// Models that other people made, and what is true of them; no data is given.
TEST(DiagnoseCommand, the_cause_of_pairs_from_the_wild_is_what_is_true_of_them) {
  const std::filesystem::path wild = shared_data("wild");
  if (!exists(wild)) GTEST_SKIP() << "no " << wild;
  struct Pair {
    const char *candidate, *reference, *cause, *subject;
    int exit_code;
  };
  for (const Pair& pair : {
           Pair{"cifar/resnet_int8_static", "cifar/resnet_fp32", "none", "", 0},
           Pair{"cifar/tinycnn_int8_qoperator", "cifar/tinycnn", "none", "", 0},
           Pair{"steel/v1_int8_qdq", "steel/v1_fp32", "none", "", 0},
           Pair{"steel/v2_int8_qoperator", "steel/v2_fp32", "none", "", 0},
           Pair{"steel/v2_int8_qoperator", "steel/v1_fp32", "other_weights", "7.weight_quantized",
                1},
           Pair{"stale/shipped", "stale/exported", "other_weights", "fc2.weight", 1},
           Pair{"credit/credit_int8", "credit/credit", "none", "", 0},
           Pair{"face/rfb320_simplified", "face/rfb320", "unfinished_output", "boxes", 1},
           Pair{"face/rfb320_without_postprocessing", "face/rfb320", "unfinished_output", "boxes",
                1},
           Pair{"face/slim320", "face/rfb320", "other_weights", "base_net.12.3.weight", 1},
           Pair{"cifar/resnet_int8_dynamic", "cifar/resnet_fp32", "none", "", 0},
       }) {
    SCOPED_TRACE(pair.candidate);
    const CompletedProcess outcome =
        run_vernier({"diagnose", (wild / pair.candidate).string() + ".onnx",
                     (wild / pair.reference).string() + ".onnx", "--exact", "-f", "json"});
    EXPECT_EQ(outcome.exit_code, pair.exit_code) << outcome.err;
    EXPECT_EQ(cause_of(outcome).kind, pair.cause);
    EXPECT_EQ(cause_of(outcome).subject, pair.subject);
  }
}

TEST(DiagnoseCommand, a_candidate_that_is_no_model_is_the_cause_whatever_the_reference_is) {
  const TemporaryDirectory folder;
  const std::string broken = folder / "broken.onnx";
  std::ofstream(broken) << "no model";
  for (const std::string& reference : {broken, mnist + "mnist_cnn.onnx"}) {
    const CompletedProcess outcome = run_vernier({"diagnose", broken, reference, "-f", "json"});
    EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
    EXPECT_EQ(cause_of(outcome).kind, "candidate_unsound");
    EXPECT_EQ(cause_of(outcome).subject, "unreadable-file");
    EXPECT_EQ(answer_of(outcome, "soundness"), "bad");
  }
}

TEST(DiagnoseCommand, a_candidate_that_is_no_model_has_a_page_without_a_graph) {
  const TemporaryDirectory folder;
  const std::string broken = folder / "broken.onnx", page = folder / "page.html";
  std::ofstream(broken) << "no model";
  const CompletedProcess outcome =
      run_vernier({"diagnose", broken, mnist + "mnist_cnn.onnx", "-o", page});
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_NE(read_text(page).find("unreadable-file"), std::string::npos);
}

TEST(DiagnoseCommand, a_file_that_is_not_there_is_an_error) {
  expect_error(diagnose("none.onnx", mnist + "mnist_cnn.onnx"), "none.onnx");
  expect_error(run_vernier({"diagnose", mnist + "mnist_cnn.onnx"}), "--reference");
}

}  // namespace
}  // namespace vernier
