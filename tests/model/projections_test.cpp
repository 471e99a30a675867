#include "vernier/model/projections.h"
#include "vernier/model/index.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model_builder.h"
#include "tests/shared_data.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A transformer whose names are numbers: `t` is what the next part reads.
class Transformer {
 public:
  // `reshaped`: what tables and products read is reshaped before.
  explicit Transformer(bool reshaped = false) : reshaped_(reshaped) {
    builder_.input("ids", DType::i64, {{-1, "n"}, {-1, "s"}});
    builder_.output("y", DType::f32, {{-1, "n"}, {-1, "s"}, {32, ""}});
    const std::string table = weight({32, 8});
    const std::string ids = operand("ids");
    builder_.node("Gather", {table, ids}, {next()});
  }

  void normalise() {
    const std::string input = tensor_;
    const std::string scale = weight({8});
    builder_.node("LayerNormalization", {input, scale}, {next()});
  }

  std::string product(std::string input, std::int64_t rows, std::int64_t columns) {
    const std::string matrix = weight({rows, columns});
    input = operand(std::move(input));
    builder_.node("MatMul", {std::move(input), matrix}, {next()});
    return tensor_;
  }

  void attend() {
    const std::string before = tensor_;
    normalise();
    const std::string read = tensor_;
    // Values first, then keys, then queries: the order says nothing either.
    const std::string v = product(read, 8, 8), k = product(read, 8, 8), q = product(read, 8, 8);
    vernier_onnx::AttributeProto order;
    order.set_name("perm");
    order.set_type(vernier_onnx::AttributeProto::INTS);
    for (const int axis : {0, 2, 1}) order.add_ints(axis);
    builder_.node("Transpose", {k}, {next()}, {order});
    const std::string transposed = tensor_;
    builder_.node("MatMul", {q, transposed}, {next()});
    const std::string scores = tensor_;
    builder_.node("Softmax", {scores}, {next()}, {int_attribute("axis", -1)});
    const std::string shares = tensor_;
    builder_.node("MatMul", {shares, v}, {next()});
    const std::string output = product(tensor_, 8, 8);
    builder_.node("Add", {before, output}, {next()});
  }

  // One product for queries, keys and values, and fused attention.
  void attend_fused() {
    const std::string before = tensor_;
    normalise();
    const std::string packed = product(tensor_, 8, 24);
    const std::string q = next(), k = next(), v = next();
    builder_.node("Split", {packed}, {q, k, v}, {int_attribute("axis", -1)});
    builder_.node("MultiHeadAttention", {q, k, v}, {next()}, {int_attribute("num_heads", 2)});
    const std::string output = product(tensor_, 8, 8);
    builder_.node("Add", {before, output}, {next()});
  }

  void feed_forward(bool gated) {
    const std::string before = tensor_;
    normalise();
    const std::string read = tensor_;
    const std::string up = product(read, 8, 16);
    std::string hidden = up;
    if (gated) {
      const std::string gate = product(read, 8, 16);
      builder_.node("Sigmoid", {gate}, {next()});
      const std::string open = tensor_;
      builder_.node("Mul", {gate, open}, {next()});
      const std::string activated = tensor_;
      builder_.node("Mul", {up, activated}, {next()});
    } else {
      builder_.node("Tanh", {up}, {next()});
    }
    hidden = tensor_;
    const std::string down = product(hidden, 16, 8);
    builder_.node("Add", {before, down}, {next()});
  }

  Model model() {
    normalise();
    const std::string read = operand(tensor_);
    const std::string matrix = weight({8, 32});
    builder_.node("MatMul", {read, matrix}, {"y"});
    return builder_.model();
  }

 private:
  std::string next() { return tensor_ = "t" + std::to_string(number_++); }
  std::string weight(const Shape& shape) {
    const std::string name = "w" + std::to_string(number_++);
    builder_.weight(make_tensor(name, DType::f32, shape));
    return name;
  }
  std::string operand(std::string tensor) {
    if (!reshaped_) return tensor;
    const std::string shape = "w" + std::to_string(number_++);
    builder_.weight(tensor_of<std::int64_t>(shape, DType::i64, {2}, {0, -1}));
    builder_.node("Reshape", {std::move(tensor), shape}, {next()});
    return tensor_;
  }

  GraphBuilder builder_;
  bool reshaped_;
  std::string tensor_;
  int number_ = 0;
};

std::vector<std::string> labels(const Model& model) {
  std::vector<std::string> result;
  for (const PlacedProjection& each : find_projections(ModelIndex(model)))
    result.push_back(projection_label(each));
  return result;
}

TEST(Projections, are_told_from_what_attends_to_what) {
  Transformer transformer;
  for (int layer = 0; layer < 2; ++layer) {
    transformer.attend();
    transformer.feed_forward(true);
  }
  EXPECT_THAT(
      labels(transformer.model()),
      ElementsAre("embedding", "layer 0 norm", "layer 0 v", "layer 0 k", "layer 0 q", "layer 0 o",
                  "layer 0 norm", "layer 0 up", "layer 0 gate", "layer 0 down", "layer 1 norm",
                  "layer 1 v", "layer 1 k", "layer 1 q", "layer 1 o", "layer 1 norm", "layer 1 up",
                  "layer 1 gate", "layer 1 down", "norm", "head"));
}

TEST(Projections, of_fused_attention_and_an_mlp_without_a_gate_are_told_too) {
  Transformer transformer;
  transformer.attend_fused();
  transformer.feed_forward(false);
  EXPECT_THAT(labels(transformer.model()),
              ElementsAre("embedding", "layer 0 norm", "layer 0 qkv", "layer 0 o", "layer 0 norm",
                          "layer 0 up", "layer 0 down", "norm", "head"));
}

// Exports of Conv1D, as GPT-2 has them, reshape what a Gemm reads.
TEST(Projections, norms_and_embedding_are_found_before_a_change_of_shape) {
  Transformer transformer(true);
  transformer.attend_fused();
  transformer.feed_forward(false);
  EXPECT_THAT(labels(transformer.model()),
              ElementsAre("embedding", "layer 0 norm", "layer 0 qkv", "layer 0 o", "layer 0 norm",
                          "layer 0 up", "layer 0 down", "norm", "head"));
}

TEST(Projections, of_a_model_without_attention_there_are_none) {
  Transformer transformer;
  transformer.feed_forward(true);
  EXPECT_THAT(labels(transformer.model()), IsEmpty());
}

TEST(Projections, of_an_export_and_of_its_int4_and_int8_files_are_the_same) {
  if (!std::filesystem::exists(shared_data("lm/model.onnx"))) GTEST_SKIP() << "no lm";
  const Model real = Model::load(shared_data("lm/model.onnx"));
  std::size_t named = 0;
  for (const PlacedProjection& each : find_projections(ModelIndex(real))) {
    if (each.weight.empty() || each.layer < 0) continue;
    const std::string name(projection_name(each.kind));
    EXPECT_NE(each.node.find("layers." + std::to_string(each.layer) + "/"), std::string::npos);
    EXPECT_NE(each.node.find("/" + name + "_proj/"), std::string::npos) << each.node;
    ++named;
  }
  EXPECT_EQ(named, 28U);
  const auto without_norms = [](const Model& model) {
    std::vector<std::string> all = labels(model);
    std::erase_if(all, [](const std::string& label) { return label.ends_with("norm"); });
    return all;
  };
  const auto expected = without_norms(real);
  EXPECT_EQ(expected.size(), 30U);
  for (const char* file : {"lm/model.int4.onnx", "lm/model.int8.onnx"})
    EXPECT_EQ(without_norms(Model::load(shared_data(file))), expected) << file;
}

}  // namespace
}  // namespace vernier
