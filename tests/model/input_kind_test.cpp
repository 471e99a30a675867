#include "vernier/model/input_kind.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model_builder.h"

namespace vernier {
namespace {

using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

const std::vector<Dim> tokens = {{-1, "batch"}, {-1, "length"}};

Tensor table(const std::string& name, const Shape& shape) {
  return make_tensor(name, DType::f32, shape);
}

GraphBuilder with_ids() {
  GraphBuilder builder;
  builder.input("ids", DType::i64, tokens).weight(table("words", {1000, 8})).output("y");
  return builder;
}

TEST(IndexRange, indices_of_a_gather_reach_over_its_axis) {
  EXPECT_THAT(index_lengths(with_ids().node("Gather", {"words", "ids"}, {"y"}).model()),
              UnorderedElementsAre(Pair("ids", 1000)));
  EXPECT_THAT(
      index_lengths(
          with_ids().node("Gather", {"words", "ids"}, {"y"}, {int_attribute("axis", -1)}).model()),
      UnorderedElementsAre(Pair("ids", 8)));
}

TEST(IndexRange, the_shortest_axis_counts) {
  auto builder = with_ids();
  builder.weight(table("kinds", {2, 8})).weight(table("places", {512, 8}));
  builder.node("Gather", {"words", "ids"}, {"a"})
      .node("Gather", {"kinds", "ids"}, {"b"})
      .node("Gather", {"places", "ids"}, {"y"});
  EXPECT_THAT(index_lengths(builder.model()), UnorderedElementsAre(Pair("ids", 2)));
}

TEST(IndexRange, indices_are_followed_through_casts_and_reshapes) {
  auto builder = with_ids();
  builder.node("Cast", {"ids"}, {"a"}, {int_attribute("to", 6)})
      .node("Reshape", {"a", "shape"}, {"b"})
      .node("Slice", {"b", "starts", "ends"}, {"c"})
      .node("Unsqueeze", {"c", "axes"}, {"d"})
      .node("Transpose", {"d"}, {"e"})
      .node("Concat", {"other", "e"}, {"f"})
      .node("Split", {"f"}, {"g", "h"})
      .node("Where", {"condition", "zero", "h"}, {"i"})
      .node("Gather", {"words", "i"}, {"y"});
  EXPECT_THAT(index_lengths(builder.model()), UnorderedElementsAre(Pair("ids", 1000)));
}

TEST(IndexRange, arithmetic_on_an_input_makes_it_no_index) {
  auto builder = with_ids();
  builder.node("Mul", {"ids", "ids"}, {"a"}).node("Gather", {"words", "a"}, {"y"});
  EXPECT_THAT(index_lengths(builder.model()), IsEmpty());
}

TEST(IndexRange, gathered_data_and_floats_are_no_indices) {
  GraphBuilder builder;
  builder.input("ids", DType::i64, {{7, ""}}).input("x", DType::f32, {{7, ""}});
  builder.node("Gather", {"ids", "zero"}, {"a"})
      .node("Cast", {"x"}, {"b"}, {int_attribute("to", 7)})
      .node("Gather", {"ids", "b"}, {"y"})
      .output("y");
  EXPECT_THAT(index_lengths(builder.model()), IsEmpty());
}

TEST(IndexRange, the_table_may_be_quantized_a_constant_or_known_by_its_declared_shape) {
  auto quantized = with_ids();
  quantized.node("DequantizeLinear", {"words", "scale"}, {"w"}).node("Gather", {"w", "ids"}, {"y"});
  EXPECT_THAT(index_lengths(quantized.model()), UnorderedElementsAre(Pair("ids", 1000)));

  auto constant = with_ids();
  constant.node("Constant", {}, {"w"}, {tensor_attribute("value", table("", {33, 2}))})
      .node("Gather", {"w", "ids"}, {"y"});
  EXPECT_THAT(index_lengths(constant.model()), UnorderedElementsAre(Pair("ids", 33)));

  auto declared = with_ids();
  declared.input("memory", DType::f32, {{-1, ""}, {64, ""}});
  declared.node("Gather", {"memory", "ids"}, {"y"}, {int_attribute("axis", 1)});
  EXPECT_THAT(index_lengths(declared.model()), UnorderedElementsAre(Pair("ids", 64)));

  auto dynamic = with_ids();
  dynamic.input("memory", DType::f32, {{-1, ""}, {64, ""}});
  dynamic.node("Gather", {"memory", "ids"}, {"y"});
  EXPECT_THAT(index_lengths(dynamic.model()), IsEmpty()) << "the axis is dynamic";
}

TEST(IndexRange, other_indexing_operators_count_too) {
  auto elements = with_ids();
  elements.node("GatherElements", {"words", "ids"}, {"y"}, {int_attribute("axis", 1)});
  EXPECT_THAT(index_lengths(elements.model()), UnorderedElementsAre(Pair("ids", 8)));

  auto scatter = with_ids();
  scatter.node("ScatterElements", {"words", "ids", "updates"}, {"y"});
  EXPECT_THAT(index_lengths(scatter.model()), UnorderedElementsAre(Pair("ids", 1000)));

  auto embed = with_ids();
  embed.node("EmbedLayerNormalization", {"ids", "", "words"}, {"y"}, {}, "com.microsoft");
  EXPECT_THAT(index_lengths(embed.model()), UnorderedElementsAre(Pair("ids", 1000)));
}

TEST(IndexRange, tuples_of_gather_nd_index_as_many_axes_as_they_are_long) {
  GraphBuilder builder;
  builder.input("pair", DType::i64, {{-1, ""}, {2, ""}})
      .input("any", DType::i64, {{-1, ""}, {-1, ""}})
      .weight(table("data", {50, 40, 3}))
      .node("GatherND", {"data", "pair"}, {"y"})
      .node("GatherND", {"data", "any"}, {"z"})
      .output("y");
  EXPECT_THAT(index_lengths(builder.model()),
              UnorderedElementsAre(Pair("pair", 40), Pair("any", 3)));
}

TEST(IndexRange, indices_are_followed_into_subgraphs_and_out_of_them) {
  GraphBuilder then_branch("then");
  then_branch.weight(table("inner", {20, 4})).node("Gather", {"inner", "ids"}, {"t"}).output("t");
  GraphBuilder else_branch("else");
  else_branch.node("Gather", {"words", "ids"}, {"e"}).output("e");
  auto captured = with_ids();
  captured.node(
      "If", {"condition"}, {"y"},
      {graph_attribute("then_branch", then_branch), graph_attribute("else_branch", else_branch)});
  EXPECT_THAT(index_lengths(captured.model()), UnorderedElementsAre(Pair("ids", 20)));

  GraphBuilder subgraph("body");
  subgraph.input("i", DType::i64, {})
      .input("go", DType::boolean, {})
      .input("carried", DType::i64, {});
  subgraph.node("Identity", {"go"}, {"still"}).node("Cast", {"carried"}, {"next"});
  subgraph.output("still").output("next");
  auto loop = with_ids();
  loop.node("Loop", {"trips", "", "ids"}, {"last"}, {graph_attribute("body", subgraph)})
      .node("Gather", {"words", "last"}, {"y"});
  EXPECT_THAT(index_lengths(loop.model()), UnorderedElementsAre(Pair("ids", 1000)));
}

TEST(IndexRange, indices_are_followed_through_local_functions) {
  auto proto = with_ids().node("Embed", {"words", "ids"}, {"y"}, {}, "local").proto();
  auto& function = *proto.add_functions();
  function.set_name("Embed");
  function.set_domain("local");
  function.add_input("table");
  function.add_input("positions");
  function.add_output("rows");
  auto& node = *function.add_node();
  node.set_op_type("Gather");
  node.add_input("table");
  node.add_input("positions");
  node.add_output("rows");
  EXPECT_THAT(index_lengths(Model(proto, {})), UnorderedElementsAre(Pair("ids", 1000)));
}

// Calls itself twice: it would neither end nor, cut at some depth, be done in a lifetime.
TEST(IndexRange, functions_that_unfold_without_end_are_given_up) {
  auto proto = with_ids().node("Again", {"ids"}, {"y"}, {}, "local").proto();
  auto& function = *proto.add_functions();
  function.set_name("Again");
  function.set_domain("local");
  function.add_input("x");
  function.add_output("y");
  for (const std::string output : {"unused", "y"}) {
    auto& node = *function.add_node();
    node.set_op_type("Again");
    node.set_domain("local");
    node.add_input("x");
    node.add_output(output);
  }
  EXPECT_THAT(index_lengths(Model(proto, {})), IsEmpty());
}

// What the graph says of the only input, or of the first.
InputKind kind_of(const GraphBuilder& builder) { return input_kinds(builder.model()).at(0); }
InputRole role_of(const GraphBuilder& builder) { return kind_of(builder).role; }

GraphBuilder with_input(DType dtype, const std::vector<Dim>& shape) {
  GraphBuilder builder;
  builder.input("x", dtype, shape).output("y");
  return builder;
}

Tensor numbers(const std::string& name, const std::vector<std::int64_t>& values) {
  return tensor_of<std::int64_t>(name, DType::i64, {std::ssize(values)}, values);
}
Tensor number(const std::string& name, std::int64_t value) {
  return tensor_of<std::int64_t>(name, DType::i64, {}, {value});
}

TEST(InputKind, pictures_have_one_three_or_four_channels_first_or_last) {
  const auto image = [](const std::vector<Dim>& dims, DType dtype = DType::f32) {
    return kind_of(with_input(dtype, dims).node("Relu", {"x"}, {"y"}));
  };
  EXPECT_EQ(image({{1, ""}, {3, ""}, {224, ""}, {224, ""}}).role, InputRole::image);
  EXPECT_FALSE(image({{-1, "n"}, {1, ""}, {28, ""}, {28, ""}}).channels_last);
  EXPECT_TRUE(image({{1, ""}, {32, ""}, {32, ""}, {4, ""}}).channels_last);
  EXPECT_EQ(image({{1, ""}, {3, ""}, {-1, "h"}, {-1, "w"}}).role, InputRole::image);
  EXPECT_EQ(image({{1, ""}, {3, ""}, {8, ""}, {8, ""}}).role, InputRole::values);
  EXPECT_EQ(image({{1, ""}, {2, ""}, {32, ""}, {32, ""}}).role, InputRole::values);
  EXPECT_EQ(image({{1, ""}, {3, ""}, {32, ""}}).role, InputRole::values);
  EXPECT_EQ(image({{1, ""}, {32, ""}, {32, ""}, {3, ""}}, DType::u8).range, (Interval{0, 255}));
}

TEST(InputKind, the_quantizer_behind_an_input_says_its_range) {
  auto builder = with_input(DType::f32, {{1, ""}, {10, ""}});
  builder.weight(tensor_of<float>("scale", DType::f32, {}, {0.5f}))
      .weight(tensor_of<std::uint8_t>("zero", DType::u8, {}, {100}))
      .node("QuantizeLinear", {"x", "scale", "zero"}, {"y"});
  EXPECT_EQ(kind_of(builder).range, (Interval{-50, 77.5}));
}

TEST(InputKind, sound_goes_into_a_convolution_of_one_dimension) {
  const auto sound = [](const std::vector<Dim>& dims, const Shape& kernel) {
    auto builder = with_input(DType::f32, dims);
    builder.weight(table("kernel", kernel))
        .node("Mul", {"x", "x"}, {"a"})
        .node("Unsqueeze", {"a"}, {"b"})
        .node("Conv", {"b", "kernel"}, {"y"});
    return role_of(builder);
  };
  EXPECT_EQ(sound({{1, ""}, {-1, "t"}}, {8, 1, 25}), InputRole::audio);
  EXPECT_EQ(sound({{1, ""}, {1, ""}, {-1, "t"}}, {8, 1, 25}), InputRole::audio);
  EXPECT_EQ(sound({{1, ""}, {80, ""}, {-1, "t"}}, {8, 80, 25}), InputRole::values);
  EXPECT_EQ(sound({{1, ""}, {-1, "t"}}, {8, 1, 3, 3}), InputRole::values);
}

TEST(InputKind, the_first_weighted_operator_decides_also_inside_a_branch) {
  GraphBuilder branch("branch");
  branch.weight(table("kernel", {8, 1, 25})).node("Conv", {"x", "kernel"}, {"z"}).output("z");
  auto builder = with_input(DType::f32, {{1, ""}, {-1, "t"}});
  builder.input("c", DType::boolean, {})
      .node("If", {"c"}, {"y"},
            {graph_attribute("then_branch", branch), graph_attribute("else_branch", branch)});
  const auto kinds = input_kinds(builder.model());
  EXPECT_EQ(kinds[0].role, InputRole::audio);
  EXPECT_EQ(kinds[1].role, InputRole::condition);
  auto dense = with_input(DType::f32, {{1, ""}, {16, ""}});
  dense.weight(table("matrix", {16, 16})).weight(table("kernel", {8, 1, 3}));
  dense.node("MatMul", {"x", "matrix"}, {"a"}).node("Conv", {"a", "kernel"}, {"y"});
  EXPECT_EQ(role_of(dense), InputRole::values);
}

TEST(InputKind, ids_index_a_table_or_are_encoded) {
  EXPECT_EQ(kind_of(with_ids().node("Gather", {"words", "ids"}, {"y"})),
            (InputKind{.role = InputRole::ids, .range = Interval{0, 999}}));
  auto one_hot = with_input(DType::i64, tokens);
  one_hot.weight(number("depth", 50)).node("OneHot", {"x", "depth", "values"}, {"y"});
  EXPECT_EQ(kind_of(one_hot).range, (Interval{0, 49}));
}

TEST(InputKind, numbers_that_count_up_are_the_range_of_what_is_compared_with_them) {
  const auto compared = [](const std::vector<std::int64_t>& values) {
    auto builder = with_input(DType::i32, tokens);
    builder.weight(numbers("all", values))
        .node("Reshape", {"all", "shape"}, {"row"})
        .node("Cast", {"row"}, {"narrow"}, {int_attribute("to", 6)})
        .node("Equal", {"narrow", "x"}, {"y"});
    return kind_of(builder);
  };
  EXPECT_EQ(compared({0, 1, 2, 3}).range, (Interval{0, 3}));
  EXPECT_EQ(compared({5, 6, 7}).range, (Interval{5, 7}));
  EXPECT_EQ(compared({5, 6}).role, InputRole::values) << "two are too few";
  EXPECT_EQ(compared({1, 2, 4}).role, InputRole::values);
}

TEST(InputKind, several_uses_leave_the_smallest_range) {
  auto builder = with_ids();
  builder.weight(number("depth", 50))
      .weight(number("pad", 3))
      .node("OneHot", {"ids", "depth", "values"}, {"a"})
      .node("Equal", {"ids", "pad"}, {"b"})
      .node("Gather", {"words", "ids"}, {"y"});
  EXPECT_EQ(kind_of(builder), (InputKind{.role = InputRole::ids, .range = Interval{0, 49}}));
}

TEST(InputKind, constants_that_an_input_is_equal_to_are_its_choices) {
  auto builder = with_input(DType::i64, {});
  builder.weight(number("fast", 16000)).weight(number("slow", 8000));
  builder.node("Equal", {"x", "fast"}, {"a"}).node("Equal", {"slow", "x"}, {"y"});
  EXPECT_EQ(kind_of(builder), (InputKind{.role = InputRole::choices, .choices = {8000, 16000}}));
}

TEST(InputKind, masks_are_read_as_truth_or_subtracted_from_one) {
  const auto mask = [](const std::string& op, const std::vector<std::string>& inputs,
                       DType dtype = DType::i64) {
    auto builder = with_input(dtype, tokens);
    builder.weight(number("one", 1)).weight(number("two", 2)).node(op, inputs, {"y"});
    return role_of(builder);
  };
  EXPECT_EQ(mask("Sub", {"one", "x"}), InputRole::mask);
  EXPECT_EQ(mask("Sub", {"two", "x"}), InputRole::values);
  EXPECT_EQ(mask("Sub", {"x", "one"}), InputRole::values);
  EXPECT_EQ(mask("And", {"x", "other"}, DType::boolean), InputRole::mask);
  EXPECT_EQ(mask("Where", {"x", "a", "b"}, DType::boolean), InputRole::mask);
  auto cast = with_input(DType::i64, tokens);
  cast.node("Cast", {"x"}, {"y"}, {int_attribute("to", 9)});
  EXPECT_EQ(role_of(cast), InputRole::mask);
}

TEST(InputKind, what_is_compared_with_zero_or_equal_to_one_is_a_mask) {
  const auto role = [](const std::string& op, float with, std::vector<Dim> shape) {
    auto builder = with_input(DType::i64, std::move(shape));
    builder.weight(number("number", with)).node(op, {"x", "number"}, {"y"});
    return role_of(builder);
  };
  EXPECT_EQ(role("Equal", 0, tokens), InputRole::mask);
  EXPECT_EQ(role("Equal", 1, tokens), InputRole::mask);
  EXPECT_EQ(role("Greater", 0, tokens), InputRole::mask);
  EXPECT_EQ(role("Greater", 5, tokens), InputRole::values);
  EXPECT_EQ(role("Equal", 5, tokens), InputRole::choices);
  EXPECT_EQ(role("Equal", 0, {}), InputRole::choices);
  auto both = with_input(DType::i64, tokens);  // kinds of tokens
  both.weight(number("zero", 0)).weight(number("one", 1));
  both.node("Equal", {"x", "zero"}, {"a"}).node("Equal", {"x", "one"}, {"y"});
  EXPECT_EQ(role_of(both), InputRole::choices);
}

TEST(InputKind, a_mask_is_one_although_quantizers_round_it_and_the_one_that_it_is_taken_from) {
  auto builder = with_input(DType::i64, tokens);
  builder.weight(tensor_of<float>("scale", DType::f32, {}, {1.0F / 255}))
      .weight(tensor_of<std::uint8_t>("code", DType::u8, {}, {255}));
  builder.node("Cast", {"x"}, {"a"}, {int_attribute("to", 1)})
      .node("QuantizeLinear", {"a", "scale"}, {"b"})
      .node("DequantizeLinear", {"b", "scale"}, {"c"})
      .node("DequantizeLinear", {"code", "scale"}, {"one"})
      .node("Sub", {"one", "c"}, {"y"});
  EXPECT_EQ(role_of(builder), InputRole::mask);
}

TEST(InputKind, sizes_are_lengths) {
  EXPECT_EQ(role_of(with_input(DType::i64, {{1, ""}}).node("Range", {"zero", "x", "one"}, {"y"})),
            InputRole::length);
  EXPECT_EQ(role_of(with_input(DType::i64, {{2, ""}}).node("Expand", {"a", "x"}, {"y"})),
            InputRole::length);
  EXPECT_EQ(role_of(with_input(DType::i64, {{2, ""}}).node("Add", {"a", "x"}, {"y"})),
            InputRole::values);
}

TEST(InputKind, an_input_with_the_shape_of_an_output_is_its_state) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1, ""}, {16, ""}})
      .input("h", DType::f32, {{2, ""}, {-1, "n"}, {64, ""}})
      .output("y", DType::f32, {{1, ""}, {1, ""}})
      .output("next", DType::f32, {{-1, ""}, {-1, ""}, {-1, ""}})
      .node("Add", {"h", "x"}, {"next"})
      .node("Relu", {"x"}, {"y"});
  const auto kinds = input_kinds(builder.model());
  EXPECT_EQ(kinds[0].role, InputRole::values);
  EXPECT_EQ(kinds[1].role, InputRole::state);
}

TEST(InputKind, a_cache_that_an_output_is_longer_than_is_a_state) {
  GraphBuilder builder;
  builder.input("ids", DType::i64, tokens)
      .input("past", DType::f32, {{1, ""}, {4, ""}, {-1, "past"}, {64, ""}})
      .weight(table("words", {1000, 8}))
      .output("y", DType::f32, {{1, ""}, {-1, ""}, {1000, ""}})
      .output("present", DType::f32, {{1, ""}, {4, ""}, {-1, "all"}, {64, ""}})
      .node("Gather", {"words", "ids"}, {"y"})
      .node("Concat", {"past", "y"}, {"present"});
  EXPECT_EQ(input_kinds(builder.model())[1].role, InputRole::state);
}

TEST(InputKind, what_goes_in_and_comes_out_alone_is_no_state) {
  GraphBuilder alone;
  alone.input("x", DType::f32, {{1, ""}, {16, ""}}).output("y", DType::f32, {{1, ""}, {16, ""}});
  EXPECT_EQ(role_of(alone.node("Relu", {"x"}, {"y"})), InputRole::values);
  GraphBuilder embedded;  // the other input brings no data
  embedded.input("x", DType::f32, {{1, ""}, {-1, "t"}, {16, ""}})
      .input("mask", DType::i64, tokens)
      .weight(number("one", 1))
      .output("y", DType::f32, {{1, ""}, {-1, "t"}, {16, ""}})
      .output("z")
      .node("Sub", {"one", "mask"}, {"z"})
      .node("Relu", {"x"}, {"y"});
  EXPECT_EQ(role_of(embedded), InputRole::values);
}

vernier_onnx::AttributeProto floats_attribute(const std::string& name,
                                              const std::vector<float>& values) {
  vernier_onnx::AttributeProto attribute;
  attribute.set_name(name);
  attribute.set_type(vernier_onnx::AttributeProto::FLOATS);
  for (const float value : values) attribute.add_floats(value);
  return attribute;
}

TEST(InputKind, a_scaler_says_what_its_features_are_like) {
  GraphBuilder builder;
  builder.input("age", DType::f32, {{-1, ""}, {1, ""}})
      .input("sums", DType::f32, {{-1, ""}, {2, ""}})
      .output("y")
      .node("Concat", {"age", "sums"}, {"all"}, {int_attribute("axis", 1)})
      .node("Scaler", {"all"}, {"y"},
            {floats_attribute("offset", {40, 100, 200}), floats_attribute("scale", {0.5f, 2, 4})},
            "ai.onnx.ml");
  const auto kinds = input_kinds(builder.model());
  EXPECT_EQ(kinds[0], (InputKind{.means = {40}, .deviations = {2}}));
  EXPECT_EQ(kinds[1], (InputKind{.means = {100, 200}, .deviations = {0.5, 0.25}}));
}

TEST(InputKind, a_column_that_is_picked_is_of_the_input_that_brought_it) {
  GraphBuilder builder;
  auto ages = int_attribute("cats_int64s", 0);
  ages.set_type(vernier_onnx::AttributeProto::INTS);
  ages.clear_i();
  for (const int age : {1, 5}) ages.add_ints(age);
  builder.input("sex", DType::f32, {{-1, ""}, {1, ""}})
      .input("age", DType::f32, {{-1, ""}, {1, ""}})
      .weight(numbers("second", {1}))
      .output("y")
      .node("Concat", {"sex", "age"}, {"all"}, {int_attribute("axis", 1)})
      .node("Imputer", {"all"}, {"filled"}, {}, "ai.onnx.ml")
      .node("Gather", {"filled", "second"}, {"column"}, {int_attribute("axis", 1)})
      .node("OneHotEncoder", {"column"}, {"y"}, {ages}, "ai.onnx.ml");
  const auto kinds = input_kinds(builder.model());
  EXPECT_EQ(kinds[0], InputKind{});
  EXPECT_EQ(kinds[1], (InputKind{.role = InputRole::choices, .choices = {1, 5}}));
}

TEST(InputKind, categories_are_choices) {
  auto builder = with_input(DType::f32, {{-1, ""}, {1, ""}});
  auto categories = int_attribute("cats_int64s", 0);
  categories.set_type(vernier_onnx::AttributeProto::INTS);
  categories.clear_i();
  for (const int category : {1, 2, 7}) categories.add_ints(category);
  builder.node("Cast", {"x"}, {"a"}, {int_attribute("to", 7)})
      .node("OneHotEncoder", {"a"}, {"y"}, {categories}, "ai.onnx.ml");
  EXPECT_EQ(kind_of(builder), (InputKind{.role = InputRole::choices, .choices = {1, 2, 7}}));
}

// As the mask of a sequence is made: position < length. A length of 0 makes NaN of attention.
TEST(InputKinds, a_number_that_positions_are_compared_with_is_a_length) {
  const auto role = [](const std::vector<Dim>& shape, const std::string& op) {
    GraphBuilder builder;
    builder.input("x", DType::f32, {{1}, {-1, "length"}})
        .input("n", DType::i64, shape)
        .weight(tensor_of<std::int64_t>("zero", DType::i64, {}, {0}))
        .weight(tensor_of<std::int64_t>("one", DType::i64, {}, {1}))
        .node("Shape", {"x"}, {"sizes"})
        .node("Gather", {"sizes", "one"}, {"length"})
        .node("Range", {"zero", "length", "one"}, {"positions"})
        .node(op, {"positions", "n"}, {"y"})
        .output("y");
    return input_kinds(builder.model())[1].role;
  };
  EXPECT_EQ(role({{1}}, "Less"), InputRole::length);
  EXPECT_EQ(role({}, "GreaterOrEqual"), InputRole::length);
  EXPECT_NE(role({{1}, {8}}, "Less"), InputRole::length);
  EXPECT_NE(role({{1}}, "Equal"), InputRole::length);
}

}  // namespace
}  // namespace vernier
