#include "vernier/analysis/pairing/by_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vernier/analysis/pairing/by_value.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

std::vector<Layer> layers(const std::vector<std::string>& names) {
  std::vector<Layer> list;
  for (const std::string& name : names) list.push_back({.name = name});
  return list;
}

TEST(MatchByName, knows_what_quantizers_append) {
  const auto exists = [](const std::string& name) { return name == "conv" || name == "w"; };
  EXPECT_EQ(match_by_name(exists, "conv"), (Counterpart{"conv", Match::name}));
  EXPECT_EQ(match_by_name(exists, "conv_DequantizeLinear_Output_1"),
            (Counterpart{"conv", Match::name}));
  EXPECT_EQ(match_by_name(exists, "w_quantized"), (Counterpart{"w", Match::name}));
  EXPECT_EQ(match_by_name(exists, "w_Q4"), (Counterpart{"w", Match::name}));
  EXPECT_EQ(match_by_name(exists, "w_scaled"), Counterpart{});
  EXPECT_EQ(match_by_name(exists, ""), Counterpart{});
}

TEST(IsElsewhere, a_result_of_a_module_is_made_by_the_module) {
  const CandidateTensor made{.name = "y", .layer = "lstm", .layer_is_metadata = true};
  EXPECT_FALSE(is_elsewhere(made, {.name = "lstm.0", .type = "LSTM"}));
  EXPECT_FALSE(is_elsewhere(made, {.name = "lstm_1.0", .type = "LSTM"}));
  EXPECT_TRUE(is_elsewhere(made, {.name = "gru.0", .type = "GRU"}));
  EXPECT_TRUE(is_elsewhere(made, {.name = "lstm.norm", .type = "LayerNorm"}));
}

std::vector<std::optional<std::size_t>> placed_operators(
    const std::vector<Layer>& rows, const std::vector<CandidateTensor>& tensors) {
  std::vector<std::optional<std::size_t>> found;
  for (const Placement& placement : align(rows, tensors)) found.push_back(placement.tensor);
  return found;
}

TEST(Align, operators_of_their_own_kind_are_placed_by_their_order_in_the_module) {
  const std::vector<Layer> rows = {
      {.name = "up/upsample_nearest2d", .type = "aten.upsample_nearest2d"},
      {.name = "up/mul", .type = "aten.mul"},
      {.name = "up/upsample_bicubic2d", .type = "aten.upsample_bicubic2d"}};
  std::vector<CandidateTensor> tensors = {
      {.name = "x", .is_input = true},
      {.name = "a", .layer = "up", .op = "Resize", .inputs = {0}},
      {.name = "b", .layer = "up", .op = "Mul", .inputs = {1}},
      {.name = "c", .layer = "up", .op = "Resize", .inputs = {2}}};
  EXPECT_THAT(placed_operators(rows, tensors), ElementsAre(1, std::nullopt, 3));
  tensors[3].inputs = {0};  // no longer computed from the first: their order may be another
  EXPECT_THAT(placed_operators(rows, tensors),
              ElementsAre(std::nullopt, std::nullopt, std::nullopt));
  tensors[3] = {.name = "c", .layer = "other", .op = "Resize", .inputs = {2}};
  EXPECT_THAT(placed_operators(rows, tensors),
              ElementsAre(std::nullopt, std::nullopt, std::nullopt));
}

TEST(PairOutputs, names_come_first_and_what_has_none_is_listed) {
  const OutputPairing pairing = pair_outputs(std::vector<std::string>{"a", "b", "c"},
                                             std::vector<std::string>{"c", "a", "d"});
  EXPECT_THAT(pairing.pairs, ElementsAre(OutputPair{"a", 0, 1}, OutputPair{"c", 2, 0}));
  EXPECT_THAT(pairing.only_reference, ElementsAre(1));
  EXPECT_THAT(pairing.only_candidate, ElementsAre(2));
}

TEST(PairOutputs, without_a_common_name_those_in_the_same_place_belong_together) {
  const std::vector<std::string> two = {"a", "b"}, other = {"x", "y"}, swapped = {"b", "a"};
  EXPECT_THAT(pair_outputs(two, other).pairs, ElementsAre(OutputPair{"x", 0, 0, Match::position},
                                                          OutputPair{"y", 1, 1, Match::position}));
  EXPECT_THAT(
      pair_outputs(two, swapped, true).pairs,
      ElementsAre(OutputPair{"b", 0, 0, Match::position}, OutputPair{"a", 1, 1, Match::position}));
  EXPECT_THAT(pair_outputs(two, std::vector<std::string>{"x"}).pairs, IsEmpty());
  EXPECT_THAT(pair_outputs(two, std::vector<std::string>{"a"}, true).pairs,
              ElementsAre(OutputPair{"a", 0, 0}));
}

std::vector<Tensor> outputs(const std::vector<std::pair<std::string, Shape>>& specs) {
  std::vector<Tensor> tensors;
  for (const auto& [name, shape] : specs) tensors.push_back(make_tensor(name, DType::f32, shape));
  return tensors;
}

TEST(PairOutputs, without_a_common_name_positions_decide_if_all_of_them_agree) {
  const auto reference = outputs({{"a", {1, 2}}, {"b", {3}}, {"c", {1, 4}}});
  const auto same = outputs({{"x", {2}}, {"y", {3}}, {"z", {1, 4}}});
  const auto other = outputs({{"x", {2}}, {"y", {3}}, {"z", {1, 5}}});
  EXPECT_THAT(
      pair_outputs(reference, same, {}).pairs,
      ElementsAre(OutputPair{"x", 0, 0, Match::position}, OutputPair{"y", 1, 1, Match::position},
                  OutputPair{"z", 2, 2, Match::position}));
  EXPECT_THAT(pair_outputs(reference, other, {}).pairs, IsEmpty());
  EXPECT_THAT(pair_outputs(reference, same, {{"a", "z"}}).pairs,
              ElementsAre(OutputPair{"z", 0, 2}));  // b's [3] is not x's [2]
}

TEST(PairOutputs, another_order_of_the_same_names_is_told) {
  const std::vector<std::string> reference = {"a", "b", "c"}, other = {"c", "new", "a"};
  EXPECT_EQ(order_warning(pair_outputs(reference, other), reference),
            (Warning{WarningKind::reordered_outputs, "c, a", "a, c"}));
  EXPECT_EQ(order_warning(pair_outputs(reference, reference), reference), std::nullopt);
  const auto mapped = pair_outputs(outputs({{"a", {1}}, {"b", {1}}}),
                                   outputs({{"x", {1}}, {"y", {1}}}), {{"a", "y"}, {"b", "x"}});
  EXPECT_EQ(order_warning(mapped, reference), std::nullopt);
}

TEST(PairOutputs, beside_common_names_an_output_of_another_name_is_missing) {
  const auto reference = outputs({{"a", {1}}, {"lost", {1}}});
  const auto candidate = outputs({{"a", {1}}, {"new", {1}}});
  EXPECT_THAT(pair_outputs(reference, candidate, {}).pairs, ElementsAre(OutputPair{"a", 0, 0}));
  EXPECT_THAT(pair_outputs(reference, candidate, {}).only_reference, ElementsAre(1));
}

TEST(PairOutputs, a_mapping_goes_first_and_unknown_names_are_errors) {
  const auto reference = outputs({{"a", {1}}, {"b", {1}}}),
             candidate = outputs({{"b", {1}}, {"d", {1}}});
  EXPECT_THAT(pair_outputs(reference, candidate, {{"a", "b"}, {"b", "d"}}).pairs,
              ElementsAre(OutputPair{"b", 0, 0}, OutputPair{"d", 1, 1}));
  EXPECT_THAT(
      [&] {
        pair_outputs(reference, candidate, {{"e", "d"}});
      },
      ThrowsMessage<Error>(HasSubstr("no output 'e' in the reference; there are a, b")));
  EXPECT_THAT(
      [&] {
        pair_outputs(reference, candidate, {{"a", "e"}});
      },
      ThrowsMessage<Error>(HasSubstr("no output 'e' in the candidate; there are b, d")));
}

TEST(Align, a_tensor_of_the_same_name_comes_first) {
  const std::vector<CandidateTensor> tensors = {{.name = "a/Relu", .layer = "relu"},
                                                {.name = "relu"}};
  EXPECT_THAT(align(layers({"relu"}), tensors), ElementsAre(Placement{Match::name, 1}));
}

// Newer exporters call tensors as operators: "linear_2" is the third of those, whichever module
// computes it.
TEST(Align, a_module_with_a_scope_of_its_own_is_no_call_of_another) {
  const auto made = [](const std::string& name, const std::string& module) {
    return CandidateTensor{.name = name, .layer = module, .layer_is_metadata = true};
  };
  const std::vector<CandidateTensor> tensors = {
      made("linear", "linear_2"), made("linear_1", "linear_1"), made("linear_2", "linear")};
  const std::vector<Layer> modules = {{.name = "linear_2", .type = "Linear"},
                                      {.name = "linear_1", .type = "Linear"},
                                      {.name = "linear", .type = "Linear"}};
  const std::vector<Placement> placed = align(modules, tensors);
  ASSERT_EQ(placed.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(placed[i].tensor, i);
}

TEST(Align, a_module_with_the_name_of_an_argument_is_no_input) {
  const std::vector<CandidateTensor> tensors = {{.name = "x", .is_input = true},
                                                {.name = "/x/Add", .layer = "x", .inputs = {0}}};
  const std::vector<Layer> module = {{.name = "x", .type = "Linear"}}, tensor = {{.name = "x"}};
  EXPECT_THAT(align(module, tensors), ElementsAre(Placement{Match::scope, 1}));
  EXPECT_THAT(align(tensor, tensors), ElementsAre(Placement{Match::name, 0}));
}

// A Loop that fills a sequence, which no probe shows, and counts.
TEST(Align, what_goes_into_a_tensor_that_is_not_shown_does_not_leave_the_scope) {
  const std::vector<CandidateTensor> tensors = {{.name = "table", .layer = "bag"},
                                                {.name = "", .layer = "bag", .inputs = {0, 4}},
                                                {.name = "rows", .layer = "bag", .inputs = {1}},
                                                {.name = "fc", .layer = "fc", .inputs = {2}},
                                                {.name = "counter", .layer = "bag", .inputs = {0}}};
  EXPECT_THAT(align(layers({"bag"}), tensors), ElementsAre(Placement{Match::scope, 2}));
}

TEST(Align, the_first_of_several_outputs_stands_for_the_layer) {
  const std::vector<CandidateTensor> tensors = {{.name = "lstm.0"}, {.name = "lstm.1"}};
  EXPECT_THAT(align(layers({"lstm"}), tensors), ElementsAre(Placement{Match::name, 0}));
}

TEST(Align, the_last_tensor_that_leaves_the_scope_is_the_layers) {
  // gelu: erf -> mul, both in the scope; the shape is read by nobody else and comes last.
  const std::vector<CandidateTensor> tensors = {{.name = "x"},
                                                {.name = "erf", .layer = "gelu", .inputs = {0}},
                                                {.name = "mul", .layer = "gelu", .inputs = {0, 1}},
                                                {.name = "shape", .layer = "gelu", .inputs = {2}},
                                                {.name = "fc", .layer = "fc", .inputs = {2}}};
  EXPECT_THAT(align(layers({"gelu"}), tensors), ElementsAre(Placement{Match::scope, 2}));
}

TEST(Align, scopes_in_metadata_are_told_apart) {
  const std::vector<CandidateTensor> tensors = {
      {.name = "val_7", .layer = "fc", .layer_is_metadata = true}};
  EXPECT_THAT(align(layers({"fc"}), tensors), ElementsAre(Placement{Match::metadata, 0}));
}

TEST(Align, outputs_are_placed_by_position_if_there_are_as_many) {
  const std::vector<CandidateTensor> one = {{.name = "y", .is_output = true}};
  const std::vector<CandidateTensor> two = {{.name = "y", .is_output = true},
                                            {.name = "z", .is_output = true}};
  const std::vector<Layer> reference = {{.name = "out", .is_output = true}};
  EXPECT_THAT(align(reference, one), ElementsAre(Placement{Match::position, 0}));
  EXPECT_THAT(align(reference, two), ElementsAre(Placement{}));
}

TEST(Align, what_nothing_names_has_no_place) {
  const std::vector<CandidateTensor> tensors = {{.name = "x"}, {.name = "y"}};
  EXPECT_THAT(align(layers({"fc", "drop"}), tensors), ElementsAre(Placement{}, Placement{}));
  EXPECT_THAT(placed_pairs(align(layers({"fc"}), tensors)), IsEmpty());
}

TEST(Align, contenders_keep_the_order_of_computation) {
  // x -> a -> b -> c, where a is layer 0 and c is layer 4.
  const std::vector<CandidateTensor> tensors = {{.name = "x"},
                                                {.name = "a", .inputs = {0}},
                                                {.name = "b", .inputs = {1}},
                                                {.name = "c", .inputs = {2}}};
  std::vector<Placement> placements(6);
  placements[0] = {Match::name, 1};
  placements[4] = {Match::name, 3};
  placements[2] = {Match::fused, std::nullopt};
  EXPECT_THAT(*contended_pairs(placements, tensors),
              ElementsAre(LayerPair{1, 1}, LayerPair{3, 1}, LayerPair{1, 2}, LayerPair{3, 2},
                          LayerPair{1, 3}, LayerPair{3, 3}, LayerPair{5, 3}));
}

TEST(Align, too_many_contenders_are_none) {
  const std::vector<CandidateTensor> tensors = {{.name = "x"}, {.name = "y"}};
  const std::vector<Placement> placements(3);
  EXPECT_EQ(contended_pairs(placements, tensors, 6)->size(), 6u);
  EXPECT_FALSE(contended_pairs(placements, tensors, 5));
}

TEST(Align, results_of_a_subgraph_narrow_what_is_listed_before_them) {
  // y = If(...), listed before t, the tensor of its branch, which is computed from x.
  const std::vector<CandidateTensor> tensors = {
      {.name = "x"}, {.name = "y", .inputs = {2}}, {.name = "t", .inputs = {0}}};
  std::vector<Placement> placements(3);
  placements[1] = {Match::name, 0};
  EXPECT_THAT(*contended_pairs(placements, tensors),
              ElementsAre(LayerPair{0, 0}, LayerPair{2, 0}, LayerPair{2, 1}, LayerPair{2, 2}));
}

CandidateTensor of_module(const std::string& name, const std::string& module,
                          std::vector<std::size_t> inputs) {
  return {.name = name,
          .layer = module,
          .layer_is_metadata = true,
          .inputs = std::move(inputs),
          .is_output = false};
}

TEST(Align, a_tensor_that_only_bears_the_name_of_a_module_is_not_its_output) {
  const std::vector<CandidateTensor> tensors = {of_module("linear", "encoder.fc", {}),
                                                of_module("linear_1", "linear", {0})};
  const std::vector<Layer> modules = {{.name = "encoder.fc", .type = "Linear"},
                                      {.name = "linear", .type = "Linear"}};
  EXPECT_THAT(align(modules, tensors),
              ElementsAre(Placement{Match::metadata, 0}, Placement{Match::metadata, 1}));
  // Another ONNX model's tensors have no modules: their names are all there is.
  EXPECT_THAT(align(layers({"linear"}), tensors), ElementsAre(Placement{Match::name, 0}));
}

TEST(Align, the_runs_of_a_scope_are_the_calls_of_its_module) {
  const std::vector<CandidateTensor> tensors = {
      of_module("conv2d", "conv", {}), of_module("relu", "relu", {0}), of_module("add", "", {1, 0}),
      of_module("relu_1", "relu", {2}), of_module("shape", "relu", {2})};
  const std::vector<Layer> calls = {{.name = "conv", .type = "Conv2d"},
                                    {.name = "relu", .type = "ReLU"},
                                    {.name = "relu_1", .type = "ReLU"}};
  std::vector<CandidateTensor> with_output = tensors;
  with_output[3].is_output = true;
  EXPECT_THAT(align(calls, with_output),
              ElementsAre(Placement{Match::metadata, 0}, Placement{Match::metadata, 1},
                          Placement{Match::metadata, 3}));
}

TEST(Align, calls_that_cannot_be_told_apart_are_left_to_their_values) {
  const std::vector<CandidateTensor> tensors = {of_module("relu", "relu", {}),
                                                of_module("relu_1", "relu", {0})};
  const std::vector<Layer> calls = {{.name = "relu", .type = "ReLU"},
                                    {.name = "relu_1", .type = "ReLU"}};
  EXPECT_THAT(align(calls, tensors), ElementsAre(Placement{}, Placement{}));
}

TEST(Align, a_module_whose_name_ends_in_a_number_is_no_second_call) {
  const std::vector<CandidateTensor> tensors = {of_module("a", "relu", {}),
                                                of_module("b", "relu_1", {0})};
  const std::vector<Layer> modules = {{.name = "relu", .type = "ReLU"},
                                      {.name = "relu_1", .type = "ReLU"}};
  EXPECT_THAT(align(modules, tensors),
              ElementsAre(Placement{Match::metadata, 0}, Placement{Match::metadata, 1}));
}

}  // namespace
}  // namespace vernier
