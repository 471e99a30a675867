#include "vernier/analysis/check/groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/analysis/check/checking.h"
#include "tests/fixture.h"

namespace vernier {
namespace {

using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

GraphBuilder one(const std::string& op, const std::string& domain = "") {
  GraphBuilder builder;
  return builder.input("x", DType::f32, {{-1, "batch"}, {4, ""}})
      .node(op, {"x"}, {"y"}, {}, domain)
      .output("y", DType::f32, {{-1, "batch"}, {4, ""}});
}

// The same with an operator of another domain.
vernier_onnx::ModelProto foreign(const std::string& op, const std::string& domain) {
  vernier_onnx::ModelProto proto = one(op, domain).proto();
  auto& import = *proto.add_opset_import();
  import.set_domain(domain);
  import.set_version(1);
  return proto;
}

Finding first(const Findings& findings, const std::string& id) {
  const Findings found = only(findings, id);
  return found.empty() ? Finding{} : found.front();
}

TEST(Runs, a_plain_model_is_sound) { EXPECT_THAT(check_saved(one("Relu").model()), IsEmpty()); }

TEST(Runs, sound_is_tried_at_lengths_that_long_windows_take) {
  const Model model = GraphBuilder()
                          .input("x", DType::f32, {{1, ""}, {1, ""}, {-1, "samples"}})
                          .weight(f32("window", {1, 1, 1000}, std::vector<float>(1000, 0.001F)))
                          .node("Conv", {"x", "window"}, {"y"})
                          .output("y", DType::f32, {{1, ""}, {1, ""}, {-1, ""}})
                          .model();
  EXPECT_THAT(only(check_saved(model), "not-run"), IsEmpty());
}

TEST(Runs, an_output_of_another_shape_than_it_declares_is_told) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1, ""}, {4, ""}}).weight(i64("shape", {2, 2}));
  builder.node("Reshape", {"x", "shape"}, {"y"}).output("y", DType::f32, {{4, ""}, {1, ""}});
  EXPECT_EQ(told(check_saved(builder.model()), "other-output-shape"),
            "y: it is declared as [4,1], and a run gives [2,2]");
  EXPECT_EQ(told(check_saved(one("Relu").model()), "other-output-shape"), "none");
}

TEST(Runs, a_file_that_is_no_model_is_unreadable) {
  const TemporaryDirectory folder;
  std::ofstream(folder / "m.onnx") << "version https://git-lfs.github.com/spec/v1";
  EXPECT_EQ(ids_of(check(folder / "m.onnx").findings), std::vector<std::string>{"unreadable-file"});
}

TEST(Runs, an_operator_that_came_later_names_its_opset) {
  const Finding found = first(check_saved(one("Gelu").model(17)), "unknown-operator");
  EXPECT_EQ(found.subject, (Subject{SubjectKind::node, "node_1"}));
  EXPECT_EQ(evidence_text(found), "Gelu came with opset 20, the model imports 17");
  EXPECT_EQ(remedy_text(found), "Export with opset 20 or newer.");
  EXPECT_THAT(check_saved(one("Gelu").model(20, 9)), IsEmpty());
}

TEST(Runs, an_operator_that_was_removed_names_what_replaces_it) {
  const Finding found = first(check_saved(one("Upsample").model(13)), "unknown-operator");
  EXPECT_EQ(evidence_text(found), "Upsample was removed in opset 10, the model imports 13");
  EXPECT_EQ(remedy_text(found), "Use Resize instead, or opset 9.");
}

TEST(Runs, an_operator_that_never_was_names_the_closest_one) {
  const Finding found = first(check_saved(one("LeakyReLU6").model()), "unknown-operator");
  EXPECT_EQ(evidence_text(found), "ONNX has no operator LeakyReLU6");
  EXPECT_EQ(remedy_text(found), "The closest operator is LeakyRelu: was that meant?");
}

TEST(Runs, custom_domains_are_named) {
  const Model model(foreign("Fancy", "org.example"), {});
  const Finding found = first(check_saved(model), "custom-operator");
  EXPECT_EQ(evidence_text(found),
            "Fancy is of domain 'org.example', which ONNX Runtime does not have");
}

TEST(Runs, a_local_function_is_no_custom_operator) {
  vernier_onnx::ModelProto proto = foreign("Fancy", "org.example");
  auto& function = *proto.add_functions();
  function.set_name("Fancy");
  function.set_domain("org.example");
  function.add_input("a");
  function.add_output("b");
  function.add_opset_import()->set_version(17);
  auto& node = *function.add_node();
  node.set_op_type("Relu");
  node.add_input("a");
  node.add_output("b");
  EXPECT_THAT(check_saved(Model(proto, {})), IsEmpty());
}

TEST(Runs, operators_of_onnx_runtime_alone_are_a_note) {
  const Model model(foreign("QuickGelu", "com.microsoft"), {});
  const Finding found = first(check_saved(model), "contrib-operator");
  EXPECT_EQ(found.severity, Severity::note);
  EXPECT_EQ(evidence_text(found), "QuickGelu is of domain com.microsoft");
}

TEST(Runs, an_operator_that_a_known_domain_does_not_have_is_named) {
  const Model model(foreign("QuickGelus", "com.microsoft"), {});
  EXPECT_EQ(told(check_saved(model), "unknown-operator"),
            "node_1: the domain com.microsoft has no operator QuickGelus in ONNX Runtime");
}

TEST(Runs, what_onnx_runtime_refuses_is_told_with_the_node) {
  const Model model = GraphBuilder()
                          .input("x", DType::f32, {{2, ""}})
                          .input("i", DType::i64, {{2, ""}})
                          .node("Add", {"x", "i"}, {"y"})
                          .output("y", DType::f32, {{2, ""}})
                          .model();
  const Finding found = first(check_saved(model), "refused-model");
  EXPECT_EQ(found.subject.name, "node_1");
  EXPECT_THAT(evidence_text(found), HasSubstr("bound to different types"));
}

// y = x reshaped to 5 rows, which no input has.
GraphBuilder failing() {
  GraphBuilder builder;
  return builder.input("x", DType::f32, {{2, ""}, {3, ""}})
      .weight(i64("shape", {1}))
      .weight(i64("five", {5}))
      .node("Mul", {"shape", "five"}, {"rows"})
      .node("Reshape", {"x", "rows"}, {"y"})
      .output("y");
}

TEST(Runs, a_run_that_fails_is_told_with_the_node) {
  const Findings found = check_saved(failing().model());
  EXPECT_THAT(ids_of(found), AnyOf(Contains("failed-run"), Contains("refused-model")));
  EXPECT_EQ(serious(found)[0].subject.name, "node_2");
}

TEST(Runs, a_node_without_a_name_is_found_by_its_operator) {
  GraphBuilder builder = failing();
  for (auto& node : *builder.graph().mutable_node()) node.clear_name();
  EXPECT_EQ(serious(check_saved(builder.model()))[0].subject.name, "Reshape(y)");
}

TEST(Runs, inputs_whose_values_matter_are_not_held_against_the_model) {
  const Model model = GraphBuilder()
                          .input("x", DType::f32, {{2, ""}})
                          .input("shape", DType::i64, {{1, ""}})
                          .node("Reshape", {"x", "shape"}, {"y"})
                          .output("y", DType::f32, {{-1, "n"}})
                          .model();
  EXPECT_THAT(told(check_saved(model), "not-run"), HasSubstr("does not run on random numbers"));
}

TEST(Runs, inputs_that_cannot_be_made_are_a_warning) {
  GraphBuilder builder = one("Relu");
  builder.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();
  EXPECT_EQ(told(check_saved(builder.model()), "not-run"), ": input 'x' declares no shape");
  CheckOptions options;
  options.samples = [](const Model&) -> std::unique_ptr<Samples> {
    class Given : public Samples {
      std::int64_t size() const override { return 1; }
      std::vector<Tensor> sample(std::int64_t) override { return {filled("x", {1, 4}, 1)}; }
    };
    return std::make_unique<Given>();
  };
  EXPECT_THAT(ids_of(check_saved(builder.model(), options)), Not(Contains("not-run")));
}

TEST(Runs, a_size_that_the_model_takes_is_looked_for) {
  const auto model = [](std::int64_t kernel) {
    return GraphBuilder()
        .input("x", DType::f32, {{-1, "batch"}, {1, ""}, {-1, "length"}})
        .weight(filled("w", {1, 1, kernel}, 1))
        .node("Conv", {"x", "w"}, {"y"})
        .output("y", DType::f32, {{-1, "batch"}, {1, ""}, {-1, "rest"}})
        .model();
  };
  for (const std::int64_t kernel : {100, 600})
    EXPECT_THAT(ids_of(check_saved(model(kernel))), Not(Contains("not-run")));
  EXPECT_THAT(told(check_saved(model(20000)), "not-run"), HasSubstr("no size that was tried"));
}

TEST(Runs, a_nondeterministic_operator_is_named) {
  const Model model = GraphBuilder()
                          .input("x", DType::f32, {{2, ""}})
                          .node("Neg", {"x"}, {"n"})
                          .node("RandomNormalLike", {"n"}, {"r"})
                          .node("Add", {"n", "r"}, {"y"})
                          .output("y", DType::f32, {{2, ""}})
                          .model();
  EXPECT_EQ(told(check_saved(model), "nondeterministic"),
            "node_2: output 'y' differs between two runs, and 'r' is the first tensor that does, "
            "written by RandomNormalLike");
}

}  // namespace
}  // namespace vernier
