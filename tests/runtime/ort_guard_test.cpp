// The observer-effect guard: a model's outputs are the same, bit for bit, with a probe on every
// tensor and without any.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/model_builder.h"
#include "tests/temporary_directory.h"
#include "vernier/error.h"
#include "vernier/model/edit.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/version.h"

namespace vernier {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::UnorderedElementsAreArray;

struct Seen {
  std::vector<std::string> names;
  std::vector<Tensor> tensors;
  std::vector<Tensor> outputs;
  std::vector<UnwatchedTensor> unwatched;

  std::vector<Tensor> of(const std::string& name) const {
    std::vector<Tensor> found;
    for (const Tensor& tensor : tensors)
      if (tensor.name == name) found.push_back(tensor);
    return found;
  }
  std::string reason(const std::string& name) const {
    for (const auto& tensor : unwatched)
      if (tensor.name == name) return tensor.reason;
    return "";
  }
};

// Runs the model bare and probed, expects equal outputs, and returns what was seen.
Seen expect_no_effect(const Model& model, const std::vector<Tensor>& inputs) {
  OrtRunner bare(model.clone(), {.optimization = Optimization::disabled, .threads = 1});
  OrtRunner probed(model.clone(), {.watch = Watch::all(), .threads = 1});
  Seen seen;
  seen.outputs = probed.run(inputs, [&](const TensorView& tensor) {
    seen.names.emplace_back(tensor.name);
    seen.tensors.push_back(copy(tensor));
  });
  seen.unwatched = probed.unwatched();
  EXPECT_EQ(seen.outputs, bare.run(inputs));
  std::vector<std::string> watched;
  for (const WatchedTensor& tensor : probed.watched()) watched.push_back(tensor.name);
  EXPECT_THAT(watched, IsSupersetOf(std::set<std::string>(seen.names.begin(), seen.names.end())));
  return seen;
}

Tensor floats(const std::string& name, Shape shape, float step = 0.37f) {
  Tensor tensor = make_tensor(name, DType::f32, std::move(shape));
  float value = -1.1f;
  for (float& element : elements<float>(tensor)) element = (value += step);
  return tensor;
}

Tensor halves(const std::string& name, const std::vector<std::uint16_t>& bits) {
  return tensor_of<std::uint16_t>(name, DType::f16, {std::ssize(bits)}, bits);
}

Tensor int64s(const std::string& name, const std::vector<std::int64_t>& values) {
  return tensor_of<std::int64_t>(name, DType::i64, {std::ssize(values)}, values);
}

vernier_onnx::AttributeProto cast_to(DType dtype) {
  return int_attribute("to", onnx_data_type(dtype));
}

Tensor boolean(const std::string& name, bool value) {
  return tensor_of<bool>(name, DType::boolean, {}, {value});
}

// Whether the ONNX Runtime that is loaded is older than 1.`minor`.
bool is_before(int minor) { return std::stoi(onnxruntime_version().substr(2)) < minor; }

class EveryDType : public testing::TestWithParam<int> {};

TEST_P(EveryDType, passes_through_unchanged) {
  const auto dtype = static_cast<DType>(GetParam());
  if ((dtype == DType::i4 || dtype == DType::u4) && is_before(23))
    GTEST_SKIP() << "no Cast to 4 bits before ONNX Runtime 1.23";
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}, {3}}).output("y", DType::f32, {{2}, {3}});
  builder.node("Abs", {"x"}, {"a"});
  builder.node("Cast", {"a"}, {"b"}, {cast_to(dtype)});
  builder.node("Cast", {"b"}, {"c"}, {cast_to(DType::f32)});
  builder.node("Neg", {"c"}, {"y"});
  const Seen seen = expect_no_effect(builder.model(21, 10), {floats("x", {2, 3})});
  EXPECT_THAT(seen.names, ElementsAre("a", "b", "c", "y"));
  EXPECT_EQ(seen.tensors[1].dtype, dtype);
  EXPECT_EQ(seen.tensors[1].shape, (Shape{2, 3}));
}

INSTANTIATE_TEST_SUITE_P(OrtGuard, EveryDType, testing::Range(0, dtype_count),
                         [](const auto& test) {
                           return std::string(dtype_name(static_cast<DType>(test.param)));
                         });

// No cpu kernel for float16 Add and Mul: ORT computes them in float32 and rounds only where a
// float16 kernel (Transpose, Identity) reads. A probe must not add roundings.
TEST(OrtGuard, float16_arithmetic_is_not_rounded_by_probes) {
  GraphBuilder builder;
  builder.input("x", DType::f16, {{4}}).output("y", DType::f16, {{4}});
  builder.node("Add", {"x", "x"}, {"a"}).node("Mul", {"a", "x"}, {"b"});
  builder.node("Transpose", {"b"}, {"c"}).node("Identity", {"c"}, {"d"});
  builder.node("Sub", {"d", "x"}, {"e"}).node("Identity", {"e"}, {"f"});
  builder.node("Div", {"f", "x"}, {"y"});
  const Seen seen =
      expect_no_effect(builder.model(), {halves("x", {0x3c01, 0x3d57, 0x4249, 0xb6db})});
  EXPECT_THAT(seen.names, ElementsAre("a", "b", "c", "d", "e", "f", "y"));
  EXPECT_EQ(seen.of("a")[0].dtype, DType::f32);
  EXPECT_EQ(seen.of("c")[0].dtype, DType::f16);
}

TEST(OrtGuard, float16_inside_branches_is_not_rounded_by_probes) {
  GraphBuilder branch("branch");
  branch.node("Mul", {"a", "x"}, {"m"}).node("Sub", {"m", "x"}, {"s"});
  branch.node("Mul", {"s", "a"}, {"out"}).output("out", DType::f16, {{3}});
  GraphBuilder builder;
  builder.input("x", DType::f16, {{3}})
      .input("c", DType::boolean, {})
      .output("y", DType::f16, {{3}});
  builder.node("Add", {"x", "x"}, {"a"});
  builder.node("If", {"c"}, {"z"},
               {graph_attribute("then_branch", branch), graph_attribute("else_branch", branch)});
  builder.node("Div", {"z", "a"}, {"y"});
  const Seen seen = expect_no_effect(builder.model(),
                                     {halves("x", {0x3c01, 0x3d57, 0x4249}), boolean("c", true)});
  EXPECT_THAT(seen.names, IsSupersetOf({"a", "node_2.then_branch/m", "node_2.then_branch/s", "y"}));
}

TEST(OrtGuard, large_weights_that_stay_in_the_file_give_the_same_results) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{3}, {64}}).output("y");
  builder.weight(floats("w", {64, 128}, 0.001f)).weight(floats("v", {128}, 0.1f));
  builder.node("MatMul", {"x", "w"}, {"a"}).node("Add", {"a", "v"}, {"b"});
  builder.node("ReduceSum", {"w"}, {"s"}).node("Mul", {"b", "s"}, {"y"});
  const TemporaryDirectory folder;
  builder.model().save(folder / "m.onnx");
  const Model model = Model::load(folder / "m.onnx");
  ASSERT_TRUE(model.is_inside(model.graph().initializer(0)));
  const Seen seen = expect_no_effect(model, {floats("x", {3, 64})});
  EXPECT_EQ(seen.outputs,
            OrtRunner(builder.model(), {.optimization = Optimization::disabled, .threads = 1})
                .run(std::vector{floats("x", {3, 64})}));
}

GraphBuilder branch(const std::string& op) {
  GraphBuilder builder(op);
  builder.node(op, {"x", "w"}, {"inner"}).node("Relu", {"inner"}, {"result_" + op});
  builder.output("result_" + op, DType::f32, {{3}});
  return builder;
}

TEST(OrtGuard, branches_of_an_if_are_watched_under_their_own_names) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{3}}).input("c", DType::boolean, {});
  builder.output("y", DType::f32, {{3}}).weight(floats("w", {3}));
  builder.node("If", {"c"}, {"z"},
               {graph_attribute("then_branch", branch("Add")),
                graph_attribute("else_branch", branch("Mul"))});
  builder.node("Neg", {"z"}, {"y"});
  const Model model = builder.model();
  const Seen taken = expect_no_effect(model, {floats("x", {3}), boolean("c", true)});
  EXPECT_THAT(taken.names, ElementsAre("node_1.then_branch/inner", "result_Add", "z", "y"));
  const Seen other = expect_no_effect(model, {floats("x", {3}), boolean("c", false)});
  EXPECT_THAT(other.names, ElementsAre("node_1.else_branch/inner", "result_Mul", "z", "y"));
}

GraphBuilder loop_subgraph() {
  GraphBuilder subgraph("body");
  subgraph.input("i", DType::i64, {})
      .input("go", DType::boolean, {})
      .input("carried", DType::f32, {{2}});
  subgraph.node("Identity", {"go"}, {"go_on"});
  subgraph.node("Add", {"carried", "x"}, {"next"});
  subgraph.node("Mul", {"next", "next"}, {"scanned"});
  subgraph.output("go_on", DType::boolean, {}).output("next", DType::f32, {{2}});
  subgraph.output("scanned", DType::f32, {{2}});
  return subgraph;
}

TEST(OrtGuard, a_loop_shows_its_subgraph_once_for_each_turn) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).weight(tensor_of<std::int64_t>("n", DType::i64, {}, {3}));
  builder.weight(boolean("yes", true));
  builder.output("last", DType::f32, {{2}}).output("all", DType::f32, {{3}, {2}});
  builder.node("Loop", {"n", "yes", "x"}, {"last", "all"},
               {graph_attribute("body", loop_subgraph())});
  const Seen seen = expect_no_effect(builder.model(), {floats("x", {2})});
  EXPECT_EQ(seen.of("next").size(), 3u);
  EXPECT_EQ(seen.of("scanned").size(), 3u);
  EXPECT_EQ(seen.of("next")[2].bytes, seen.outputs[0].bytes);
}

TEST(OrtGuard, a_scan_shows_its_subgraph_once_for_each_slice) {
  GraphBuilder subgraph("body");
  subgraph.input("sum", DType::f32, {{2}}).input("slice", DType::f32, {{2}});
  subgraph.node("Add", {"sum", "slice"}, {"total"}).node("Identity", {"total"}, {"partial"});
  subgraph.output("total", DType::f32, {{2}}).output("partial", DType::f32, {{2}});
  GraphBuilder builder;
  builder.input("x", DType::f32, {{4}, {2}}).weight(floats("zero", {2}));
  builder.output("last", DType::f32, {{2}}).output("all", DType::f32, {{4}, {2}});
  builder.node("Scan", {"zero", "x"}, {"last", "all"},
               {graph_attribute("body", subgraph), int_attribute("num_scan_inputs", 1)});
  const Seen seen = expect_no_effect(builder.model(), {floats("x", {4, 2})});
  EXPECT_EQ(seen.of("total").size(), 4u);
}

TEST(OrtGuard, a_branch_inside_a_loop_sees_the_graphs_around_it) {
  GraphBuilder then_branch("then");
  then_branch.node("Sub", {"carried", "x"}, {"down"}).output("down", DType::f32, {{2}});
  GraphBuilder else_branch("else");
  else_branch.node("Add", {"carried", "x"}, {"up"}).output("up", DType::f32, {{2}});
  GraphBuilder subgraph("body");
  subgraph.input("i", DType::i64, {})
      .input("go", DType::boolean, {})
      .input("carried", DType::f32, {{2}});
  subgraph.node("Less", {"i", "one"}, {"early"});
  subgraph.node(
      "If", {"early"}, {"next"},
      {graph_attribute("then_branch", then_branch), graph_attribute("else_branch", else_branch)});
  subgraph.output("go", DType::boolean, {}).output("next", DType::f32, {{2}});
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).output("y", DType::f32, {{2}});
  builder.weight(tensor_of<std::int64_t>("n", DType::i64, {}, {3})).weight(boolean("yes", true));
  builder.weight(tensor_of<std::int64_t>("one", DType::i64, {}, {1}));
  builder.node("Loop", {"n", "yes", "x"}, {"y"}, {graph_attribute("body", subgraph)});
  const Seen seen = expect_no_effect(builder.model(), {floats("x", {2})});
  EXPECT_EQ(seen.of("down").size(), 1u);
  EXPECT_EQ(seen.of("up").size(), 2u);
}

TEST(OrtGuard, outputs_that_a_node_leaves_out_are_left_out) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}, {1}, {4}}).output("h");
  builder.weight(floats("w", {1, 12, 4}, 0.01f)).weight(floats("r", {1, 12, 3}, 0.02f));
  builder.node("LSTM", {"x", "w", "r"}, {"", "h", "unused"}, {int_attribute("hidden_size", 3)});
  const Seen seen = expect_no_effect(builder.model(), {floats("x", {2, 1, 4})});
  EXPECT_THAT(seen.names, UnorderedElementsAreArray({"h", "unused"}));
}

TEST(OrtGuard, sequences_and_optionals_are_reported_and_their_tensors_watched) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{4}}).output("y", DType::f32, {{2}});
  builder.weight(int64s("parts", {2, 2}))
      .weight(tensor_of<std::int64_t>("first", DType::i64, {}, {0}));
  builder.node("SplitToSequence", {"x", "parts"}, {"pieces"});
  builder.node("Identity", {"pieces"}, {"same_pieces"});
  builder.node("Optional", {"same_pieces"}, {"maybe"});
  builder.node("OptionalGetElement", {"maybe"}, {"sure"});
  builder.node("SequenceAt", {"sure", "first"}, {"piece"}).node("Neg", {"piece"}, {"y"});
  const Seen seen = expect_no_effect(builder.model(), {floats("x", {4})});
  EXPECT_THAT(seen.names, ElementsAre("piece", "y"));
  EXPECT_EQ(seen.reason("pieces"), "a sequence, not a tensor");
  EXPECT_EQ(seen.reason("same_pieces"), "a sequence, not a tensor");
  EXPECT_EQ(seen.reason("maybe"), "an optional, not a tensor");
  EXPECT_EQ(seen.reason("sure"), "a sequence, not a tensor");
}

TEST(OrtGuard, a_sequence_carried_by_a_loop_is_reported) {
  GraphBuilder subgraph("body");
  subgraph.input("i", DType::i64, {}).input("go", DType::boolean, {});
  auto& carried = *subgraph.graph().add_input();
  carried.set_name("carried");
  carried.mutable_type()
      ->mutable_sequence_type()
      ->mutable_elem_type()
      ->mutable_tensor_type()
      ->set_elem_type(onnx_data_type(DType::f32));
  subgraph.node("SequenceInsert", {"carried", "x"}, {"longer"});
  subgraph.output("go", DType::boolean, {});
  auto& output = *subgraph.graph().add_output();
  output = carried;
  output.set_name("longer");
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).output("y");
  builder.weight(tensor_of<std::int64_t>("n", DType::i64, {}, {3})).weight(boolean("yes", true));
  builder.node("SequenceEmpty", {}, {"none"});
  builder.node("Loop", {"n", "yes", "none"}, {"many"}, {graph_attribute("body", subgraph)});
  builder.node("ConcatFromSequence", {"many"}, {"y"}, {int_attribute("axis", 0)});
  const Seen seen = expect_no_effect(builder.model(), {floats("x", {2})});
  EXPECT_THAT(seen.names, ElementsAre("y"));
  EXPECT_EQ(seen.reason("many"), "a sequence, not a tensor");
  EXPECT_EQ(seen.reason("longer"), "a sequence, not a tensor");
}

TEST(OrtGuard, strings_pass_a_probe_and_are_reported) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).output("y", DType::f32, {{2}});
  builder.node("Cast", {"x"}, {"text"}, {int_attribute("to", 8)});
  builder.node("Cast", {"text"}, {"y"}, {cast_to(DType::f32)});
  const Seen seen = expect_no_effect(builder.model(), {floats("x", {2})});
  EXPECT_THAT(seen.names, ElementsAre("y"));
  EXPECT_EQ(seen.reason("text"), "elements of string");
  EXPECT_THAT(seen.names, Not(Contains("text")));
}

TEST(OrtGuard, types_that_no_probe_takes_are_reported) {
  if (is_before(24)) GTEST_SKIP() << "no int2 before ONNX Runtime 1.24";
  constexpr int int2 = 26;
  GraphBuilder builder;
  builder.input("x", DType::f32, {{3}}).output("y", DType::f32, {{3}}).output("f");
  builder.node("Cast", {"x"}, {"f"}, {int_attribute("to", int2)});
  builder.node("Cast", {"f"}, {"y"}, {cast_to(DType::f32)});
  const Seen seen = expect_no_effect(builder.model(25, 13), {floats("x", {3})});
  EXPECT_THAT(seen.names, ElementsAre("y"));
  EXPECT_EQ(seen.reason("f"), "of type tensor(int2)");
}

TEST(OrtGuard, constants_are_reported_not_probed) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}, {3}}).output("y");
  builder.node("Constant", {}, {"shape"}, {tensor_attribute("value", int64s("", {3, 2}))});
  builder.node("Reshape", {"x", "shape"}, {"y"});
  const Seen seen = expect_no_effect(builder.model(), {floats("x", {2, 3})});
  EXPECT_THAT(seen.names, ElementsAre("y"));
  EXPECT_EQ(seen.reason("shape"), "a constant: its value is in the model");
}

TEST(OrtGuard, inputs_weights_and_constants_may_be_outputs) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).weight(floats("w", {2}));
  builder.node("Constant", {}, {"c"}, {tensor_attribute("value", int64s("", {7}))});
  builder.node("Add", {"x", "w"}, {"y"});
  builder.output("x", DType::f32, {{2}}).output("w", DType::f32, {{2}});
  builder.output("c", DType::i64, {{1}}).output("y", DType::f32, {{2}});
  const Seen seen = expect_no_effect(builder.model(), {floats("x", {2})});
  EXPECT_THAT(seen.names, ElementsAre("y"));
  EXPECT_EQ(seen.outputs.size(), 4u);
}

TEST(OrtGuard, an_output_that_is_also_read_inside_is_seen_once) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}})
      .output("a", DType::f32, {{2}})
      .output("y", DType::f32, {{2}});
  builder.node("Neg", {"x"}, {"a"}).node("Abs", {"a"}, {"y"});
  EXPECT_THAT(expect_no_effect(builder.model(), {floats("x", {2})}).names, ElementsAre("a", "y"));
}

TEST(OrtGuard, a_tensor_may_be_an_output_twice_over) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).output("y", DType::f32, {{2}});
  builder.node("Neg", {"x"}, {"y"}).output("y", DType::f32, {{2}});
  const Model model = builder.model();
  const Seen seen = expect_no_effect(model, {floats("x", {2})});
  EXPECT_THAT(seen.names, ElementsAre("y"));
}

TEST(OrtGuard, a_subgraph_gives_what_the_whole_gives_there) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).weight(floats("w", {2})).output("y", DType::f32, {{2}});
  builder.node("Exp", {"x"}, {"a"}).node("Mul", {"a", "w"}, {"b"}).node("Tanh", {"b"}, {"y"});
  const Model model = builder.model();
  const Seen whole = expect_no_effect(model, {floats("x", {2})});
  const Tensor a = whole.of("a")[0];
  const Model part =
      extract_subgraph(model, std::vector{spec_of(a)}, std::vector<std::string>{"b"});
  EXPECT_EQ(OrtRunner(part.clone()).run(std::vector{a})[0], whole.of("b")[0]);
}

TEST(OrtGuard, empty_tensors_are_shown) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{-1, "n"}, {3}}).output("y");
  builder.node("Neg", {"x"}, {"a"}).node("Abs", {"a"}, {"y"});
  const Seen seen = expect_no_effect(builder.model(), {make_tensor("x", DType::f32, {0, 3})});
  EXPECT_EQ(seen.of("a")[0].shape, (Shape{0, 3}));
}

TEST(OrtGuard, tensors_inside_local_functions_are_watched) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).output("y", DType::f32, {{2}});
  builder.node("Square", {"x"}, {"a"}, {}, "local").node("Square", {"a"}, {"y"}, {}, "local");
  auto proto = builder.proto();
  auto& import = *proto.add_opset_import();
  import.set_domain("local");
  import.set_version(1);
  auto& function = *proto.add_functions();
  function.set_name("Square");
  function.set_domain("local");
  function.add_input("in");
  function.add_output("out");
  function.add_opset_import()->set_version(17);
  *function.mutable_node() =
      GraphBuilder().node("Neg", {"in"}, {"t"}).node("Mul", {"t", "in"}, {"out"}).graph().node();
  const Seen seen = expect_no_effect(Model(proto, {}), {floats("x", {2})});
  EXPECT_THAT(seen.names, IsSupersetOf({"a", "y"}));
  EXPECT_EQ(seen.names.size(), 4u);
}

}  // namespace
}  // namespace vernier
