#include "vernier/analysis/check/groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/analysis/check/checking.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Findings structure(const Model& model) { return check_structure(ModelIndex(model)); }

GraphBuilder small() {
  GraphBuilder builder;
  return builder.input("x", DType::f32, {{2, ""}})
      .node("Relu", {"x"}, {"y"})
      .output("y", DType::f32, {{2, ""}});
}

TEST(Structure, a_plain_model_has_nothing_to_complain_about) {
  EXPECT_THAT(structure(small().model()), IsEmpty());
}

TEST(Structure, weights_that_nothing_reads_are_found) {
  const Model model =
      small().weight(filled("lost", {3}, 1)).weight(filled("y2", {2}, 1)).output("y2").model();
  EXPECT_EQ(told(structure(model), "unused-initializer"), "lost: nothing reads its 12 bytes");
}

TEST(Structure, small_leftovers_are_only_noted) {
  const auto severity = [](std::int64_t elements) {
    return structure(small().weight(filled("lost", {elements}, 1)).model())[0].severity;
  };
  EXPECT_EQ(severity(255), Severity::note);
  EXPECT_EQ(severity(256), Severity::warning);
  const auto constant = tensor_attribute("value", filled("", {1}, 1));
  const Model model = small().node("Constant", {}, {"c"}, {constant}).model();
  EXPECT_EQ(structure(model)[0].severity, Severity::note);
}

TEST(Structure, weights_that_callers_may_replace_are_found) {
  const auto model = [](std::int64_t ir_version) {
    return small()
        .input("w", DType::f32, {{2, ""}})
        .weight(filled("w", {2}, 1))
        .node("Add", {"y", "w"}, {"z"})
        .output("z")
        .model(13, ir_version);
  };
  EXPECT_EQ(told(structure(model(7)), "initializer-as-input"),
            "w: this weight of 8 bytes is listed as an input");
  EXPECT_EQ(told(structure(model(3)), "initializer-as-input"), "none");
}

TEST(Structure, a_weight_that_only_a_subgraph_reads_is_read) {
  GraphBuilder branch("branch");
  branch.node("Add", {"x", "w"}, {"r"}).output("r");
  const Model model =
      GraphBuilder()
          .input("x", DType::f32, {{2, ""}})
          .input("c", DType::boolean, {})
          .weight(filled("w", {2}, 1))
          .node("If", {"c"}, {"y"},
                {graph_attribute("then_branch", branch), graph_attribute("else_branch", branch)})
          .output("y")
          .model();
  EXPECT_THAT(structure(model), IsEmpty());
}

TEST(Structure, whole_chains_of_nodes_without_effect_are_found) {
  const Model model =
      small().node("Abs", {"x"}, {"a"}).node("Neg", {"a"}, {"b"}).node("Exp", {"y"}, {"e"}).model();
  const Findings found = structure(model);
  EXPECT_THAT(ids_of(found), ElementsAre("unused-node", "unused-node", "unused-node"));
  EXPECT_EQ(found[0].subject.name, "node_2");
  EXPECT_EQ(evidence_text(found[0]), "no output depends on this Abs");
}

// As onnxruntime's float16 converter appends Casts of inputs.
TEST(Structure, nodes_that_are_not_sorted_are_told_and_none_is_called_unused) {
  const Model model = GraphBuilder()
                          .input("x", DType::f32, {{2, ""}})
                          .node("Relu", {"cast"}, {"y"})
                          .node("Neg", {"x"}, {"cast"})
                          .output("y", DType::f32, {{2, ""}})
                          .model();
  const Findings findings = structure(model);
  EXPECT_EQ(told(findings, "unsorted-nodes"), "node_1: it reads 'cast', which a later node writes");
  EXPECT_EQ(told(findings, "unused-node"), "none");
}

TEST(Structure, two_weights_of_one_name_are_an_error) {
  const Model model = small()
                          .weight(filled("w", {2}, 1))
                          .weight(filled("w", {2}, 7))
                          .node("Add", {"y", "w"}, {"z"})
                          .output("z")
                          .model();
  EXPECT_EQ(told(structure(model), "repeated-initializer"),
            "w: the graph stores it more than once");
}

TEST(Structure, an_input_that_nothing_reads_is_noted) {
  const Model model = small().input("lost", DType::f32, {{2, ""}}).model();
  EXPECT_EQ(told(structure(model), "unused-input"), "lost: no node reads it");
}

TEST(Structure, an_output_that_is_left_out_does_not_make_a_node_useful) {
  const Model model = small().node("Dropout", {"x", "", ""}, {"d", ""}).model();
  EXPECT_EQ(told(structure(model), "unused-node"), "node_2: no output depends on this Dropout");
}

TEST(Structure, identities_that_follow_each_other_are_a_chain) {
  const Model chain =
      small().node("Identity", {"y"}, {"a"}).node("Identity", {"a"}, {"b"}).output("b").model();
  EXPECT_EQ(told(structure(chain), "identity-chain"), "node_3: it reads the Identity 'node_2'");
  EXPECT_THAT(structure(small().node("Identity", {"y"}, {"a"}).output("a").model()), IsEmpty());
}

TEST(Structure, large_constants_belong_into_initializers) {
  const auto model = [](std::int64_t size) {
    return small()
        .node("Constant", {}, {"c"}, {tensor_attribute("value", filled("", {size}, 1))})
        .output("c")
        .model();
  };
  EXPECT_EQ(told(structure(model(256)), "constant-node"), "node_2: it holds 1024 bytes");
  EXPECT_THAT(structure(model(255)), IsEmpty());
}

TEST(Structure, old_versions_are_told_from_new_ones) {
  EXPECT_EQ(told(structure(small().model(12)), "old-opset"), ": the model imports opset 12");
  EXPECT_THAT(structure(small().model(13)), IsEmpty());
  EXPECT_EQ(told(structure(small().model(17, 7)), "old-ir-version"),
            ": opset 17 came with IR version 8, the file has 7");
  EXPECT_EQ(told(structure(small().model(21, 9)), "old-ir-version"),
            ": opset 21 came with IR version 10, the file has 9");
  EXPECT_THAT(structure(small().model(14, 7)), IsEmpty());
}

Model with_two_weights(float second) {
  return small()
      .weight(filled("first", {1024}, 1))
      .weight(filled("second", {1024}, second))
      .output("first")
      .output("second")
      .model();
}

TEST(Structure, weights_that_are_stored_twice_are_found) {
  EXPECT_EQ(told(structure(with_two_weights(1)), "duplicate-initializer"),
            "first: 4096 bytes are wasted: 'second' holds the same");
  EXPECT_THAT(structure(with_two_weights(2)), IsEmpty());
}

TEST(Structure, shapes_that_can_be_inferred_should_be_there) {
  GraphBuilder builder = small();
  builder.node("Abs", {"y"}, {"a"}).node("Neg", {"a"}, {"z"}).output("z", DType::f32, {{2, ""}});
  EXPECT_EQ(told(check_shapes(ModelIndex(builder.model()), {}), "missing-shapes"),
            "a: shape inference gives the shapes of 1 tensor that declares none");
  EXPECT_THAT(check_shapes(ModelIndex(small().model()), {}), IsEmpty());
}

// A model whose weight is in `location`, which holds `bytes` bytes.
Findings check_external(const std::string& location, std::size_t bytes) {
  const TemporaryDirectory folder;
  GraphBuilder builder = small();
  vernier_onnx::TensorProto& weight = *builder.graph().add_initializer();
  weight = make_tensor_proto(filled("w", {4}, 1));
  set_external_data(weight, {.location = location, .offset = 0, .length = 16});
  builder.node("Add", {"y", "w"}, {"z"}).output("z");
  std::ofstream(folder / "model.onnx", std::ios::binary) << builder.proto().SerializeAsString();
  if (bytes > 0) std::ofstream(folder / "w.bin") << std::string(bytes, '\0');
  return check(folder / "model.onnx").findings;
}

TEST(Structure, external_data_has_to_be_there) {
  EXPECT_EQ(told(check_external("w.bin", 8), "missing-external-data"),
            "w: it needs 16 bytes from byte 0 of 'w.bin', which has 8");
  EXPECT_THAT(told(check_external("other.bin", 16), "missing-external-data"),
              HasSubstr("found no such file"));
  EXPECT_EQ(told(check_external("w.bin", 16), "missing-external-data"), "none");
}

TEST(Structure, a_data_file_that_is_missing_is_one_error) {
  GraphBuilder builder = small();
  for (const std::string name : {"a", "b", "c"}) {
    vernier_onnx::TensorProto& weight = *builder.graph().add_initializer();
    weight = make_tensor_proto(filled(name, {4}, 1));
    set_external_data(weight, {.location = "gone.bin", .offset = 0, .length = 16});
  }
  const TemporaryDirectory folder;
  const Model model(builder.proto(), folder.path(), "model.onnx");
  EXPECT_EQ(told(check_files(ModelIndex(model)), "missing-external-data"),
            "a: external data 'gone.bin': expected a file in the model's folder, found no such "
            "file, which 3 weights need");
}

TEST(Structure, an_offset_that_is_no_number_is_a_finding) {
  GraphBuilder builder = small();
  vernier_onnx::TensorProto& weight = *builder.graph().add_initializer();
  weight = make_tensor_proto(filled("w", {4}, 1));
  set_external_data(weight, {.location = "w.bin", .offset = 0, .length = 16});
  weight.mutable_external_data(1)->set_value("1e3x");
  const TemporaryDirectory folder;
  std::ofstream(folder / "model.onnx", std::ios::binary) << builder.proto().SerializeAsString();
  EXPECT_THAT(told(check(folder / "model.onnx").findings, "missing-external-data"),
              HasSubstr("'1e3x'"));
}

TEST(Structure, external_data_must_not_be_elsewhere) {
  EXPECT_EQ(told(check_external("../w.bin", 16), "escaping-external-data"),
            "w: its data is in '../w.bin'");
  EXPECT_EQ(told(check_external("/dev/zero", 16), "escaping-external-data"),
            "w: its data is in '/dev/zero'");
  EXPECT_EQ(told(check_external("w.bin", 16), "escaping-external-data"), "none");
}

TEST(Structure, a_link_that_leads_out_of_the_folder_escapes_too) {
  const TemporaryDirectory folder;
  std::filesystem::create_directory(folder / "inside");
  std::ofstream(folder / "w.bin") << std::string(16, '\0');
  std::filesystem::create_symlink(folder / "w.bin", folder / "inside/w.bin");
  GraphBuilder builder = small();
  vernier_onnx::TensorProto& weight = *builder.graph().add_initializer();
  weight = make_tensor_proto(filled("w", {4}, 1));
  set_external_data(weight, {.location = "w.bin", .offset = 0, .length = 16});
  const Model model(builder.proto(), folder / "inside", "model.onnx");
  EXPECT_THAT(told(check_files(ModelIndex(model)), "escaping-external-data"),
              HasSubstr("a link that leaves it"));
}

TEST(Structure, a_file_over_two_gigabytes_needs_external_data) {
  const TemporaryDirectory folder;
  small().model().save(folder / "model.onnx");
  EXPECT_THAT(check_files(ModelIndex(Model::load(folder / "model.onnx"))), IsEmpty());
  const Model model = Model::load(folder / "model.onnx");
  std::filesystem::resize_file(folder / "model.onnx",
                               std::uintmax_t{1} << 31);  // a hole, no blocks
  EXPECT_EQ(told(check_files(ModelIndex(model)), "oversized-file"),
            ": the file has 2147483648 bytes, ONNX files at most 2147483647");
}

}  // namespace
}  // namespace vernier
