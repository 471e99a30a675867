#include "vernier/model/value_kind.h"

#include <gtest/gtest.h>

#include "tests/model_builder.h"

namespace vernier {
namespace {

ValueKinds kinds_of(const GraphBuilder& builder) {
  const auto proto = builder.proto();
  return value_kinds(proto, proto.graph());
}

TEST(ValueKind, follows_sequences_and_optionals_through_operators) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}});
  builder.node("SequenceConstruct", {"x", "x"}, {"s"}).node("Identity", {"s"}, {"i"});
  builder.node("SequenceInsert", {"i", "x"}, {"longer"})
      .node("SequenceAt", {"longer", "n"}, {"at"});
  builder.node("Optional", {"x"}, {"maybe"}).node("OptionalGetElement", {"maybe"}, {"sure"});
  builder.node("Optional", {"s"}, {"maybe_s"}).node("OptionalGetElement", {"maybe_s"}, {"sure_s"});
  builder.node("ZipMap", {"x"}, {"zipped"}, {}, "ai.onnx.ml");
  const ValueKinds expected = {{"x", ValueKind::tensor},
                               {"s", ValueKind::sequence},
                               {"i", ValueKind::sequence},
                               {"longer", ValueKind::sequence},
                               {"maybe", ValueKind::optional_tensor},
                               {"maybe_s", ValueKind::optional_sequence},
                               {"sure_s", ValueKind::sequence},
                               {"zipped", ValueKind::sequence}};
  EXPECT_EQ(kinds_of(builder), expected);
}

TEST(ValueKind, an_if_gives_what_its_branches_give) {
  GraphBuilder branch;
  branch.node("SequenceConstruct", {"x"}, {"s"}).node("Neg", {"x"}, {"t"}).output("s").output("t");
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}});
  builder.node("If", {"c"}, {"a", "b"},
               {graph_attribute("then_branch", branch), graph_attribute("else_branch", branch)});
  const ValueKinds kinds = kinds_of(builder);
  EXPECT_EQ(kinds.at("a"), ValueKind::sequence);
  EXPECT_FALSE(kinds.contains("b"));
}

TEST(ValueKind, a_function_gives_what_its_subgraph_gives) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).node("Wrap", {"x"}, {"s"}, {}, "local");
  auto proto = builder.proto();
  auto& function = *proto.add_functions();
  function.set_name("Wrap");
  function.set_domain("local");
  function.add_input("in");
  function.add_output("out");
  *function.mutable_node() =
      GraphBuilder().node("SequenceConstruct", {"in"}, {"out"}).graph().node();
  EXPECT_EQ(value_kinds(proto, proto.graph()).at("s"), ValueKind::sequence);
}

TEST(ValueKind, has_a_name_for_messages) {
  EXPECT_EQ(kind_name(ValueKind::sequence), "a sequence");
  EXPECT_EQ(kind_name(ValueKind::optional_tensor), "an optional");
}

}  // namespace
}  // namespace vernier
