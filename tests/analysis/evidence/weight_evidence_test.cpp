#include "vernier/analysis/evidence/weight_evidence.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/fixture.h"
#include "tests/injected_faults.h"
#include "tests/model_builder.h"
#include "vernier/analysis/evidence/float_weights.h"
#include "vernier/model/convert_fp16.h"
#include "vernier/runtime/runner.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/permute.h"

namespace vernier {
namespace {

using Answer = WeightEvidence::Answer;

WeightEvidence evidence_of(const Model& reference, const Model& candidate) {
  return compare_weights_of(ModelIndex(reference), ModelIndex(candidate));
}

std::optional<WeightEvidence> evidence_of(const Runner& reference, const Model& candidate) {
  return compare_weights_of(reference, ModelIndex(candidate));
}

WeightEvidence evidence(const std::string& reference, const std::string& candidate) {
  return evidence_of(Model::load(fixture("mnist/" + reference)),
                     Model::load(fixture("mnist/" + candidate)));
}

TEST(WeightEvidence, rounding_to_nearest_is_half_a_step) {
  for (const char* candidate : {"mnist_cnn.int8.onnx", "mnist_cnn.int8_per_channel.onnx"}) {
    const WeightEvidence found = evidence("mnist_cnn.onnx", candidate);
    EXPECT_EQ(found.answer, Answer::same) << candidate;
    EXPECT_EQ(found.weights.size(), 10u);
    EXPECT_EQ(found.paired, 10);
    EXPECT_NEAR(*found.worst_steps, 0.5, 0.001) << candidate;
  }
  EXPECT_EQ(evidence("mnist_vit.onnx", "mnist_vit.int8.onnx").answer, Answer::same);
}

TEST(WeightEvidence, a_float_model_is_compared_with_itself_exactly) {
  const WeightEvidence found = evidence("mnist_cnn.onnx", "mnist_cnn.onnx");
  EXPECT_EQ(found.answer, Answer::same);
  EXPECT_FALSE(found.worst_steps);
  EXPECT_EQ(found.worst_db, INFINITY);
}

TEST(WeightEvidence, half_precision_is_within_a_unit_in_the_last_place) {
  const Model reference = Model::load(fixture("mnist/mnist_vit.onnx"));
  EXPECT_EQ(evidence_of(reference, convert_to_fp16(reference).model).answer, Answer::same);
}

// onnxconverter-common lifts to 1e-7 what is not zero; that is 2 of the smallest units of float16.
TEST(WeightEvidence, what_is_too_small_for_half_precision_may_be_lifted) {
  const auto product_of = [](DType dtype, const std::vector<float>& values) {
    const Tensor weight = tensor_of("w", DType::f32, {4, 4}, values);
    GraphBuilder builder;
    return builder.input("x", dtype, {{1}, {4}})
        .weight(convert(weight, dtype))
        .node("MatMul", {"x", "w"}, {"y"})
        .output("y")
        .model();
  };
  std::vector<float> values(16);
  for (int i = 0; i < 16; ++i) values[i] = std::sin(1.0F + static_cast<float>(3 * i));
  values[3] = 1e-9F, values[5] = -2e-8F, values[7] = 2e-7F;
  std::vector<float> lifted = values;
  lifted[3] = 1e-7F, lifted[5] = -1e-7F;
  const Model reference = product_of(DType::f32, values);
  const auto answer = [&](const std::vector<float>& stored) {
    return evidence_of(reference, product_of(DType::f16, stored)).answer;
  };
  EXPECT_EQ(answer(values), Answer::same);
  EXPECT_EQ(answer(lifted), Answer::same);
  lifted[7] = 4e-7F;
  EXPECT_EQ(answer(lifted), Answer::different);
  lifted[7] = values[7], lifted[3] = 4e-7F;
  EXPECT_EQ(answer(lifted), Answer::different);
}

TEST(WeightEvidence, a_changed_weight_is_named) {
  const Model reference = Model::load(fixture("mnist/mnist_cnn.onnx"));
  for (const char* name : {"mnist_cnn.int8.onnx", "mnist_cnn.onnx"}) {
    Model candidate = Model::load(fixture(std::string("mnist/") + name));
    const std::string changed = largest_weight(candidate)->name();
    ASSERT_TRUE(roll_weight(candidate));
    const WeightEvidence found = evidence_of(reference, candidate);
    EXPECT_EQ(found.answer, Answer::different) << name;
    EXPECT_EQ(found.weights[*found.most_different].candidate, changed) << name;
    EXPECT_LT(found.weights[*found.most_different].sqnr_db, 5) << name;
  }
}

TEST(WeightEvidence, a_wrong_scale_is_many_steps) {
  Model candidate = Model::load(fixture("mnist/mnist_cnn.int8.onnx"));
  ASSERT_TRUE(scale_weight(candidate));
  const WeightEvidence found = evidence_of(Model::load(fixture("mnist/mnist_cnn.onnx")), candidate);
  ASSERT_EQ(found.answer, Answer::different);
  EXPECT_GT(*found.weights[*found.most_different].steps, 20);
}

TEST(WeightEvidence, a_nan_among_the_scales_is_not_forgotten_at_the_next_channel) {
  Model candidate = Model::load(fixture("mnist/mnist_cnn.int8_per_channel.onnx"));
  const auto scales = std::ranges::find_if(
      *candidate.graph().mutable_initializer(), [](const vernier_onnx::TensorProto& tensor) {
        return tensor.data_type() == vernier_onnx::TensorProto::FLOAT && tensor.dims_size() == 1 &&
               tensor.dims(0) > 1 && tensor.name().ends_with("_scale");
      });
  ASSERT_NE(scales, candidate.graph().mutable_initializer()->end());
  Tensor values = candidate.tensor(*scales);
  elements<float>(values)[0] = NAN;
  *scales = make_tensor_proto(values);
  EXPECT_EQ(evidence_of(Model::load(fixture("mnist/mnist_cnn.onnx")), candidate).answer,
            Answer::different);
}

// y = relu(x A) B, with these factors of the columns of A and of the rows of B.
Model two_products(float columns, float rows, float all = 1) {
  Tensor first = make_tensor("a", DType::f32, {8, 16}),
         second = make_tensor("b", DType::f32, {16, 8});
  for (std::int64_t i = 0; i < 128; ++i) {
    const auto power = [](float base, std::int64_t channel) {
      return std::pow(base, static_cast<float>(channel % 5 - 2));
    };
    elements<float>(first)[i] = all * std::sin(1.0F + 3 * i) * power(columns, i % 16);
    elements<float>(second)[i] = std::cos(2.0F + 5 * i) * power(rows, i / 8);
  }
  Tensor third = make_tensor("c", DType::f32, {8, 8});
  for (std::int64_t i = 0; i < 64; ++i) elements<float>(third)[i] = std::sin(0.5F + 7 * i);
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {8}}).weight(first).weight(second).weight(third);
  builder.node("MatMul", {"x", "a"}, {"h"}).node("Relu", {"h"}, {"r"});
  builder.node("MatMul", {"r", "b"}, {"s"}).node("MatMul", {"s", "c"}, {"y"}).output("y");
  return builder.model();
}

TEST(WeightEvidence, channels_that_were_equalised_between_layers_are_the_same) {
  const Model reference = two_products(1, 1);
  const WeightEvidence same = evidence_of(reference, two_products(2, 0.5F));
  EXPECT_EQ(same.answer, Answer::same);
  EXPECT_EQ(std::ranges::count(same.weights, true, &PairedWeight::equalised), 2);
  for (const Model& other : {two_products(2, 1), two_products(2, 2), two_products(1, 1, 1.5F)})
    EXPECT_EQ(evidence_of(reference, other).answer, Answer::different);
}

// The model with its matrices in 8 bits, on a scale each, which is `range` over 127 where it is
// given.
Model in_eight_bits(const Model& model, std::optional<float> range = std::nullopt) {
  GraphBuilder builder;
  for (const TensorSpec& input : model.inputs())
    builder.input(input.name, input.dtype, input.shape);
  for (const auto& weight : model.graph().initializer()) {
    const Tensor values = model.tensor(weight);
    float largest = 0;
    for (const float value : elements<float>(values.view()))
      largest = std::max(largest, std::abs(value));
    const float scale = range.value_or(largest) / 127;
    Tensor stored = make_tensor(weight.name() + "_quantized", DType::i8, values.shape);
    std::ranges::transform(elements<float>(values.view()), elements<std::int8_t>(stored).begin(),
                           [&](float value) {
                             const float steps = std::nearbyint(value / scale);
                             return static_cast<std::int8_t>(std::clamp(steps, -127.0F, 127.0F));
                           });
    builder.weight(stored)
        .weight(tensor_of<float>(weight.name() + "_scale", DType::f32, {}, {scale}))
        .node("DequantizeLinear", {stored.name, weight.name() + "_scale"}, {weight.name()});
  }
  for (const auto& node : model.graph().node())
    builder.node(node.op_type(), {node.input().begin(), node.input().end()},
                 {node.output().begin(), node.output().end()});
  return builder.output("y").model();
}

// y = x W, where W is [16, 1000] and `change` was at its elements.
template <typename Change>
Model wide_product(const Change& change, const char* name = "w") {
  Tensor weight = make_tensor(name, DType::f32, {16, 1000});
  const std::span<float> values = elements<float>(weight);
  for (std::int64_t i = 0; i < std::ssize(values); ++i)
    values[i] = std::sin(1.0F + 3 * static_cast<float>(i));
  change(values);
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {16}}).weight(weight).node("MatMul", {"x", name}, {"y"});
  return builder.output("y").model();
}

void keep_columns(std::span<float>) {}

void exchange_columns(std::span<float> values) {
  for (int row = 0; row < 16; ++row) std::swap(values[row * 1000 + 7], values[row * 1000 + 998]);
}

void clear_column(std::span<float> values) {
  for (int row = 0; row < 16; ++row) values[row * 1000 + 7] = 0;
}

void scale_column(std::span<float> values) {
  for (int row = 0; row < 16; ++row) values[row * 1000 + 7] *= 1.5F;
}

TEST(WeightEvidence, a_channel_of_a_large_weight_that_is_another_or_lost_makes_it_another_weight) {
  const Model reference = wide_product(keep_columns);
  for (const auto& change : {exchange_columns, clear_column, scale_column})
    for (const char* name : {"w", "renamed"}) {
      const Model changed = in_eight_bits(wide_product(change, name), 1.5F);
      const WeightEvidence found = evidence_of(reference, changed);
      ASSERT_EQ(found.answer, Answer::different) << name;
      const PairedWeight& weight = found.weights.at(*found.most_different);
      EXPECT_GT(weight.sqnr_db, 20);
      ASSERT_TRUE(weight.other_channel);
      EXPECT_EQ(weight.other_channel->axis, 1);
      EXPECT_TRUE(weight.other_channel->index == 7 || weight.other_channel->index == 998);
      EXPECT_LT(weight.other_channel->sqnr_db, 7);
    }
  EXPECT_EQ(evidence_of(reference, in_eight_bits(reference)).answer, Answer::same);
}

TEST(WeightEvidence, a_channel_is_looked_for_where_the_reference_is_the_quantized_one) {
  const Model reference = in_eight_bits(wide_product(keep_columns));
  EXPECT_EQ(evidence_of(reference, wide_product(keep_columns)).answer, Answer::same);
  for (const auto& change : {exchange_columns, clear_column, scale_column})
    EXPECT_EQ(evidence_of(reference, wide_product(change)).answer, Answer::different);
}

TEST(WeightEvidence, what_a_narrow_range_clips_leaves_the_same_weight) {
  const auto few_large = [](std::span<float> values) {
    for (std::size_t i = 0; i < values.size(); i += 1001) values[i] *= 4;
  };
  const auto large_column = [](std::span<float> values) {
    for (int row = 0; row < 16; ++row) values[row * 1000 + 7] = row % 2 == 0 ? 2.0F : -2.0F;
  };
  for (const Model& reference : {wide_product(few_large), wide_product(large_column)}) {
    const WeightEvidence found = evidence_of(reference, in_eight_bits(reference, 1.0F));
    EXPECT_EQ(found.answer, Answer::same);
    EXPECT_GT(*found.worst_steps, 10);
  }
}

// By a factor that is below 20 dB in one of the two weights alone.
TEST(WeightEvidence, channels_that_were_equalised_by_little_are_the_same) {
  const auto equalised = [](float column, float row) {
    Model model = two_products(1, 1);
    Tensor first = model.tensor(model.graph().initializer(0)),
           second = model.tensor(model.graph().initializer(1));
    for (int i = 0; i < 8; ++i) {
      elements<float>(first)[i * 16 + 3] *= column;
      elements<float>(second)[3 * 8 + i] *= row;
    }
    *model.graph().mutable_initializer(0) = make_tensor_proto(first);
    *model.graph().mutable_initializer(1) = make_tensor_proto(second);
    return in_eight_bits(model);
  };
  const Model reference = two_products(1, 1);
  EXPECT_EQ(evidence_of(reference, equalised(1.106F, 1 / 1.106F)).answer, Answer::same);
  EXPECT_EQ(evidence_of(reference, equalised(1.106F, 1)).answer, Answer::different);
}

// A scale x1.09 leaves 20.9 dB.
TEST(WeightEvidence, a_weight_that_was_multiplied_as_a_whole_is_another_unless_that_is_undone) {
  const Model reference = two_products(1, 1);
  const auto scaled = [&](float first, float second) {
    Model model = in_eight_bits(reference);
    scale_constant(model, "a_scale", first);
    scale_constant(model, "b_scale", second);
    return evidence_of(reference, model);
  };
  const WeightEvidence found = scaled(1.09F, 1);
  ASSERT_EQ(found.answer, Answer::different);
  EXPECT_GT(found.weights[*found.most_different].sqnr_db, 20);
  EXPECT_NEAR(found.weights[*found.most_different].factor.value_or(1), 1.09, 0.005);
  EXPECT_EQ(scaled(1.09F, 1.08F).answer, Answer::different);
  EXPECT_EQ(scaled(1.09F, 1 / 1.09F).answer, Answer::same);
  EXPECT_EQ(scaled(1.01F, 1).answer, Answer::same);
}

// Of 16 x 16 each.
Tensor projection(const std::string& name, unsigned seed) {
  Tensor tensor = make_tensor(name, DType::f32, {16, 16});
  unsigned state = 12345U + seed;
  for (float& value : elements<float>(tensor)) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(state >> 8) / (1 << 23) - 1;
  }
  return tensor;
}

std::vector<Tensor> queries_keys_values() {
  return {projection("q", 1), projection("k", 2), projection("v", 3)};
}

// The products with each weight, and one more product behind their sum.
Model product_for_each(const std::vector<Tensor>& weights, const std::string& last_input = "x") {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {16}}).output("y").weight(projection("o", 4));
  builder.node("Tanh", {"x"}, {"bounded"});
  std::vector<std::string> products;
  for (const Tensor& weight : weights) {
    products.push_back(weight.name + ".product");
    builder.weight(weight).node("MatMul", {weight.name == "v" ? last_input : "x", weight.name},
                                {products.back()});
  }
  return builder.node("Sum", products, {"sum"}).node("MatMul", {"sum", "o"}, {"y"}).model();
}

// The same with one product, as onnxsim makes it of three.
Model product_for_all(const std::vector<Tensor>& weights) {
  Tensor joined = make_tensor("qkv", DType::f32, {16, 48});
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::size_t row = 0; row < 16; ++row)
      std::ranges::copy(elements<float>(weights[i].view()).subspan(row * 16, 16),
                        elements<float>(joined).begin() + row * 48 + i * 16);
  return GraphBuilder()
      .input("x", DType::f32, {{1}, {16}})
      .output("y")
      .weight(projection("o", 4))
      .weight(joined)
      .weight(tensor_of<std::int64_t>("sizes", DType::i64, {3}, {16, 16, 16}))
      .node("MatMul", {"x", "qkv"}, {"product"})
      .node("Split", {"product", "sizes"}, {"a", "b", "c"}, {int_attribute("axis", 1)})
      .node("Sum", {"a", "b", "c"}, {"sum"})
      .node("MatMul", {"sum", "o"}, {"y"})
      .model();
}

TEST(WeightEvidence, weights_that_were_joined_are_the_same) {
  const Model reference = product_for_each(queries_keys_values());
  const Model joined = product_for_all(queries_keys_values());
  const WeightEvidence found = evidence_of(reference, joined);
  EXPECT_EQ(found.answer, Answer::same);
  EXPECT_EQ(found.paired, 2);
  EXPECT_TRUE(std::ranges::any_of(found.weights, [](const PairedWeight& row) {
    return row.candidate == "qkv" && row.reference == "q, k, v" && row.same;
  }));
  EXPECT_EQ(evidence_of(reference, convert_to_fp16(joined).model).answer, Answer::same);
}

TEST(WeightEvidence, joined_weights_of_which_one_is_another_or_transposed_are_not_the_same) {
  const Model reference = product_for_each(queries_keys_values());
  std::vector<Tensor> twice = queries_keys_values(), changed = twice, transposed = twice;
  twice[2] = twice[1];
  elements<float>(changed[0])[17] += 0.01F;
  transposed[0] = permute_axes(transposed[0], std::vector{1, 0});
  for (const auto& weights : {twice, changed, transposed})
    EXPECT_NE(evidence_of(reference, product_for_all(weights)).answer, Answer::same);
}

TEST(WeightEvidence, weights_that_multiply_different_tensors_cannot_be_joined) {
  const Model reference = product_for_each(queries_keys_values(), "bounded");
  EXPECT_NE(evidence_of(reference, product_for_all(queries_keys_values())).answer, Answer::same);
}

// A tied table leaves an exporter twice; a weight that is there twice in another's place does not.
TEST(WeightEvidence, a_second_copy_of_a_weight_is_found_where_nothing_else_has_its_shape) {
  Model candidate = two_products(1, 1);
  const auto add_copy = [&](const std::string& name, const std::string& input) {
    auto copy = candidate.graph().initializer(2);
    copy.set_name(name);
    *candidate.graph().add_initializer() = copy;
    auto& node = *candidate.graph().add_node();
    node.set_op_type("MatMul");
    node.add_input(input);
    node.add_input(name);
    node.add_output("more");
  };
  add_copy("again", "y");
  const WeightEvidence found = evidence_of(two_products(1, 1), candidate);
  EXPECT_EQ(found.answer, Answer::same);
  EXPECT_EQ(found.paired, 4);
}

TEST(WeightEvidence, a_weight_without_a_name_that_is_much_like_a_free_one_was_changed) {
  Model candidate = two_products(1, 1);
  auto& weight = *candidate.graph().mutable_initializer(2);
  Tensor values = candidate.tensor(weight);
  for (float& value : elements<float>(values)) value *= 1.01F;
  rewire(candidate, "c", "nameless");
  weight = make_tensor_proto(values);
  weight.set_name("nameless");
  const WeightEvidence found = evidence_of(two_products(1, 1), candidate);
  ASSERT_EQ(found.answer, Answer::different);
  EXPECT_EQ(found.weights[*found.most_different].reference, "c");
  EXPECT_NEAR(found.weights[*found.most_different].sqnr_db, 40, 0.1);
}

TEST(WeightEvidence, names_do_not_matter_where_values_agree) {
  Model candidate = Model::load(fixture("mnist/mnist_cnn.onnx"));
  for (auto& weight : *candidate.graph().mutable_initializer()) {
    rewire(candidate, weight.name(), "w_" + weight.name());
    weight.set_name("w_" + weight.name());
  }
  const Model reference = Model::load(fixture("mnist/mnist_cnn.onnx"));
  EXPECT_EQ(evidence_of(reference, candidate).answer, Answer::same);
  ASSERT_TRUE(replace_weights(candidate));
  EXPECT_EQ(evidence_of(reference, candidate).answer, Answer::different);
}

// y = x W, with W stored as it is or transposed.
Model product(const Tensor& weight, bool transposed) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1, ""}, {weight.shape[transposed ? 1 : 0], ""}})
      .weight(weight)
      .node("Gemm", {"x", weight.name}, {"y"}, {int_attribute("transB", transposed ? 1 : 0)})
      .output("y");
  return builder.model();
}

TEST(WeightEvidence, a_transposed_weight_is_the_same) {
  std::vector<float> values(32), transposed(32);
  for (int i = 0; i < 32; ++i) {
    values[i] = static_cast<float>(i * i % 17) - 8;
    transposed[i % 8 * 4 + i / 8] = values[i];
  }
  const Model reference = product(tensor_of("w", DType::f32, {4, 8}, values), false);
  EXPECT_EQ(
      evidence_of(reference, product(tensor_of("v", DType::f32, {8, 4}, transposed), true)).answer,
      Answer::same);
}

// A Gemm that reads a square matrix, transposed by the attribute or by a node before it.
Model square_product(const Tensor& weight, bool by_attribute, bool by_node = false) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {4}}).weight(weight);
  if (by_node) builder.node("Transpose", {weight.name}, {"transposed"});
  return builder
      .node("Gemm", {"x", by_node ? "transposed" : weight.name}, {"y"},
            {int_attribute("transB", by_attribute ? 1 : 0)})
      .output("y")
      .model();
}

TEST(WeightEvidence, a_square_matrix_is_transposed_where_its_reader_does_not_want_it_so) {
  std::vector<float> values(16), swapped(16);
  for (int i = 0; i < 16; ++i) {
    values[i] = static_cast<float>(i * i % 17) - 8;
    swapped[i % 4 * 4 + i / 4] = values[i];
  }
  const Tensor weight = tensor_of("w", DType::f32, {4, 4}, values);
  const Tensor transposed = tensor_of("w", DType::f32, {4, 4}, swapped);
  const Model reference = square_product(weight, true);
  const auto is_transposed = [&](const Model& candidate) {
    const WeightEvidence evidence = evidence_of(reference, candidate);
    EXPECT_EQ(evidence.answer, Answer::same);
    return evidence.weights.at(0).transposed;
  };
  EXPECT_FALSE(is_transposed(reference));
  EXPECT_FALSE(is_transposed(square_product(transposed, false)));
  EXPECT_FALSE(is_transposed(square_product(weight, false, true)));
  EXPECT_FALSE(is_transposed(square_product(transposed, true, true)));
  EXPECT_TRUE(is_transposed(square_product(transposed, true)));
  EXPECT_TRUE(is_transposed(square_product(weight, false)));
}

// A Conv, or a ConvTranspose, that reads this kernel.
Model convolution(const char* op, const Tensor& kernel) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {2}, {8}, {8}})
      .weight(kernel)
      .node(op, {"x", kernel.name}, {"y"})
      .output("y");
  return builder.model();
}

TEST(WeightEvidence, a_kernel_is_flipped_only_between_a_convolution_and_a_transposed_one) {
  std::vector<float> values(36), flipped(36);
  for (int i = 0; i < 36; ++i) values[i] = static_cast<float>(i * i % 23) - 9;
  for (int in = 0; in < 2; ++in)
    for (int out = 0; out < 2; ++out)
      for (int tap = 0; tap < 9; ++tap)
        flipped[(out * 2 + in) * 9 + 8 - tap] = values[(in * 2 + out) * 9 + tap];
  const Tensor kernel = tensor_of("w", DType::f32, {2, 2, 3, 3}, values);
  const Tensor other = tensor_of("w", DType::f32, {2, 2, 3, 3}, flipped);
  const auto answer = [&](const char* reference, const char* candidate) {
    return evidence_of(convolution(reference, kernel), convolution(candidate, other)).answer;
  };
  EXPECT_EQ(answer("ConvTranspose", "Conv"), Answer::same);
  EXPECT_EQ(answer("Conv", "ConvTranspose"), Answer::same);
  EXPECT_EQ(answer("Conv", "Conv"), Answer::different);
}

TEST(WeightEvidence, a_kernel_with_height_and_width_exchanged_is_another) {
  std::vector<float> values(36);
  for (int i = 0; i < 36; ++i) values[i] = static_cast<float>(i * i % 23) - 9;
  const Tensor kernel = tensor_of("w", DType::f32, {2, 2, 3, 3}, values);
  for (const std::vector<int>& axes : {std::vector{0, 1, 3, 2}, std::vector{1, 0, 2, 3}}) {
    Tensor changed = permute_axes(kernel, axes);
    changed.name = "w";
    EXPECT_EQ(evidence_of(convolution("Conv", kernel), convolution("Conv", changed)).answer,
              Answer::different);
  }
}

// Shows parameters as a PyTorch module does: a convolution and the batch norm behind it.
class Module : public Runner {
 public:
  explicit Module(std::vector<Tensor> parameters) : parameters_(std::move(parameters)) {}
  const std::vector<TensorSpec>& inputs() const override { return none_; }
  const std::vector<TensorSpec>& outputs() const override { return none_; }
  std::vector<Tensor> run(std::span<const Tensor>, const Observer&) override { return {}; }
  std::vector<WatchedTensor> watched() const override {
    return {{.name = "conv", .type = "Conv2d"},
            {.name = "norm", .type = "BatchNorm2d", .constants = {{"eps", 0}}}};
  }
  void visit_parameters(const TensorVisitor& visit) const override {
    for (const Tensor& parameter : parameters_) visit(parameter);
  }

 private:
  std::vector<TensorSpec> none_;
  std::vector<Tensor> parameters_;
};

TEST(WeightEvidence, parameters_of_a_module_are_compared_with_its_batch_norm_folded_in) {
  std::vector<float> values(36), folded(36);
  for (int i = 0; i < 36; ++i) {
    values[i] = static_cast<float>(i * i % 23) - 9;
    folded[i] = values[i] * (i < 18 ? 2.0F : 3.0F);
  }
  const Module module({tensor_of("conv.weight", DType::f32, {2, 2, 3, 3}, values),
                       tensor_of<float>("norm.weight", DType::f32, {2}, {1, 6}),
                       tensor_of<float>("norm.running_var", DType::f32, {2}, {0.25F, 4})});
  const auto answer = [&](const std::vector<float>& kernel) {
    return evidence_of(module, convolution("Conv", tensor_of("onnx::Conv_7", DType::f32,
                                                             {2, 2, 3, 3}, kernel)))
        ->answer;
  };
  EXPECT_EQ(answer(values), Answer::same);
  EXPECT_EQ(answer(folded), Answer::same);
  folded[0] = 100;
  EXPECT_NE(answer(folded), Answer::same);
}

// y = conv(x) through a batch norm whose parameters are nodes, a product and a sum; with all of
// them folded into the weight, or as far as the batch norm.
constexpr std::array<float, 2> gains = {1.1F, 0.9F};

std::vector<float> kernel_values(const std::array<float, 2>& factors) {
  std::vector<float> values(36);
  for (int i = 0; i < 36; ++i)
    values[i] = (static_cast<float>(i * i % 17) - 8) * factors[i < 18 ? 0 : 1];
  return values;
}

Model convolution_and_more() {
  GraphBuilder builder;
  const auto constant = [&](const char* name, std::vector<float> values) {
    builder.node("Constant", {}, {name},
                 {tensor_attribute("value", tensor_of<float>(name, DType::f32, {2}, values))});
  };
  builder.input("x", DType::f32, {{1}, {2}, {8}, {8}})
      .weight(tensor_of("w", DType::f32, {2, 2, 3, 3}, kernel_values({1, 1})))
      .weight(tensor_of<float>("two", DType::f32, {1}, {2}))
      .weight(tensor_of<float>("shift", DType::f32, {1, 2, 1, 1}, {5, 6}));
  constant("gain", {gains[0], gains[1]});
  constant("offset", {1, 2});
  constant("mean", {0, 0});
  constant("variance", {1 - 1e-5F, 1 - 1e-5F});
  builder.node("Conv", {"x", "w"}, {"a"})
      .node("BatchNormalization", {"a", "gain", "offset", "mean", "variance"}, {"b"})
      .node("Mul", {"two", "b"}, {"c"})
      .node("Add", {"c", "shift"}, {"y"})
      .output("y");
  return builder.model();
}

TEST(WeightEvidence, what_stands_behind_a_layer_is_folded_in_as_far_as_it_is) {
  const Model reference = convolution_and_more();
  const auto answer = [&](std::array<float, 2> factors) {
    const Model candidate =
        convolution("Conv", tensor_of("v", DType::f32, {2, 2, 3, 3}, kernel_values(factors)));
    return evidence_of(reference, candidate).answer;
  };
  EXPECT_EQ(answer({1, 1}), Answer::same);
  EXPECT_EQ(answer({gains[0], gains[1]}), Answer::same);
  EXPECT_EQ(answer({2 * gains[0], 2 * gains[1]}), Answer::same);
  EXPECT_NE(answer({1.5F, 1.5F}), Answer::same);
}

// GELU's factor of one half, which optimisers fold into the layer that reads it.
TEST(WeightEvidence, a_scalar_factor_in_front_of_a_layer_may_be_folded_in) {
  const auto model = [](bool halves, float factor) {
    GraphBuilder builder;
    builder.input("x", DType::f32, {{1}, {2}, {8}, {8}})
        .weight(tensor_of<float>("half", DType::f32, {}, {0.5F}))
        .weight(tensor_of("w", DType::f32, {2, 2, 3, 3}, kernel_values({factor, factor})))
        .node("Erf", {"x"}, {"e"});
    if (halves) builder.node("Mul", {"x", "half"}, {"h"});
    return builder.node("Mul", {halves ? "h" : "x", "e"}, {"g"})
        .node("Conv", {"g", "w"}, {"y"})
        .output("y")
        .model();
  };
  EXPECT_EQ(evidence_of(model(true, 1), model(false, 0.5F)).answer, Answer::same);
  EXPECT_EQ(evidence_of(model(false, 0.5F), model(true, 1)).answer, Answer::same);
  EXPECT_EQ(evidence_of(model(true, 1), model(true, 1)).answer, Answer::same);
  EXPECT_EQ(evidence_of(model(true, 1), model(false, 0.25F)).answer, Answer::different);
  EXPECT_EQ(evidence_of(model(false, 1), model(false, 0.5F)).answer, Answer::different);
}

TEST(WeightEvidence, blocks_of_an_optimised_model_are_not_compared) {
  const auto model = [](const std::string& domain, std::vector<float> values) {
    return GraphBuilder()
        .input("x", DType::f32, {{1}, {2}, {8}, {8}})
        .weight(tensor_of("w", DType::f32, {2, 2, 3, 3}, values))
        .node("Conv", {"x", "w"}, {"y"}, {}, domain)
        .output("y")
        .model();
  };
  std::vector<float> blocks = kernel_values({1, 1});
  std::ranges::reverse(blocks);
  const Model reference = model("", kernel_values({1, 1}));
  EXPECT_EQ(evidence_of(reference, model("", blocks)).answer, Answer::different);
  EXPECT_EQ(evidence_of(reference, model("com.microsoft.nchwc", blocks)).answer, Answer::unknown);
}

// Two groups of two inputs, one output channel each: the weight has both channels along its axis 0.
TEST(WeightEvidence, a_batch_norm_is_folded_into_a_grouped_transposed_convolution) {
  const auto kernel = [](const std::array<float, 2>& factors) {
    return tensor_of("w", DType::f32, {4, 1, 3, 3}, kernel_values(factors));
  };
  const auto transposed = [](const Tensor& weight, const std::string& output) {
    GraphBuilder builder;
    builder.input("x", DType::f32, {{1}, {4}, {8}, {8}})
        .weight(weight)
        .node("ConvTranspose", {"x", "w"}, {output}, {int_attribute("group", 2)})
        .output("y");
    return builder;
  };
  GraphBuilder reference = transposed(kernel({1, 1}), "a");
  reference.weight(tensor_of<float>("gain", DType::f32, {2}, {2, 3}))
      .weight(tensor_of<float>("offset", DType::f32, {2}, {1, 2}))
      .weight(tensor_of<float>("mean", DType::f32, {2}, {0, 0}))
      .weight(tensor_of<float>("variance", DType::f32, {2}, {1 - 1e-5F, 1 - 1e-5F}))
      .node("BatchNormalization", {"a", "gain", "offset", "mean", "variance"}, {"y"});
  const auto answer = [&](const std::array<float, 2>& factors) {
    return evidence_of(reference.model(), transposed(kernel(factors), "y").model()).answer;
  };
  EXPECT_EQ(answer({2, 3}), Answer::same);
  EXPECT_NE(answer({3, 2}), Answer::same);
}

// Of a quantized weight that is like the one without the norm, 20 dB, and the same with it.
TEST(WeightEvidence, the_float_weight_is_the_form_that_is_nearest_with_the_biases_that_go_with_it) {
  const Model reference = convolution_and_more();
  const std::vector<float> folded = kernel_values({gains[0], gains[1]});
  std::vector<std::int8_t> stored(36);
  std::ranges::transform(folded, stored.begin(), [](float value) {
    return static_cast<std::int8_t>(std::lround(value / 0.08F));
  });
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {2}, {8}, {8}})
      .weight(tensor_of("v_quantized", DType::i8, {2, 2, 3, 3}, stored))
      .weight(tensor_of<float>("scale", DType::f32, {}, {0.08F}))
      .weight(tensor_of<std::int8_t>("zero", DType::i8, {}, {0}))
      .node("DequantizeLinear", {"v_quantized", "scale", "zero"}, {"v"})
      .node("Conv", {"x", "v"}, {"y"})
      .output("y");
  const Model candidate = builder.model();
  const WeightEvidence evidence = evidence_of(reference, candidate);
  EXPECT_LE(*evidence.worst_steps, 0.501);
  const ModelIndex index(reference);
  const auto weights = float_weights_of({.model = &index}, ModelIndex(candidate), evidence);
  const FloatWeight& found = weights.at("v_quantized");
  EXPECT_FLOAT_EQ(elements<float>(found.weight.view())[1], folded[1]);
  ASSERT_EQ(found.biases.size(), 1u);  // the product behind it would change the weight
  EXPECT_FLOAT_EQ(elements<float>(found.biases[0].view())[1], 2);
}

std::vector<float> ramp(std::size_t size, float step) {
  std::vector<float> values(size);
  for (std::size_t i = 0; i < size; ++i)
    values[i] = step * (static_cast<float>(i * 7 % size) - static_cast<float>(size) / 2.2F);
  return values;
}

// Of one direction, 3 inputs and 2 hidden units.
Model recurrent(const std::vector<float>& w, const std::vector<float>& r) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{5}, {1}, {3}}).output("y");
  builder.weight(tensor_of("w", DType::f32, {1, 8, 3}, w))
      .weight(tensor_of("r", DType::f32, {1, 8, 2}, r))
      .node("LSTM", {"x", "w", "r"}, {"y"}, {int_attribute("hidden_size", 2)});
  return builder.model();
}

// The codes of a weight [1, rows, columns], transposed, with a scale for each row, or for all.
std::vector<std::int8_t> codes(const std::vector<float>& values, int columns,
                               const std::vector<float>& scales) {
  const int rows = static_cast<int>(values.size()) / columns;
  std::vector<std::int8_t> stored(values.size());
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      stored[j * rows + i] = static_cast<std::int8_t>(
          std::nearbyint(values[i * columns + j] / scales[scales.size() == 1 ? 0 : i]));
  return stored;
}

Model dynamically_quantized(const std::vector<float>& w, const std::vector<float>& r,
                            bool per_channel) {
  const Shape scales_shape = per_channel ? Shape{1, 8} : Shape{1};
  std::vector<float> scales(per_channel ? 8 : 1, 0.02F);
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] += 0.001F * static_cast<float>(i);
  GraphBuilder builder;
  builder.input("x", DType::f32, {{5}, {1}, {3}}).output("y");
  builder.weight(tensor_of("w_quantized", DType::i8, {1, 3, 8}, codes(w, 3, scales)))
      .weight(tensor_of("r_quantized", DType::i8, {1, 2, 8}, codes(r, 2, scales)))
      .weight(tensor_of("scale", DType::f32, scales_shape, scales))
      .weight(
          tensor_of("zero", DType::i8, scales_shape, std::vector<std::int8_t>(scales.size(), 0)))
      .node(
          "DynamicQuantizeLSTM",
          {"x", "w_quantized", "r_quantized", "", "", "", "", "", "scale", "zero", "scale", "zero"},
          {"y"}, {int_attribute("hidden_size", 2)}, "com.microsoft");
  return builder.model();
}

// PyTorch has the gates as ifgo, ONNX as iofc.
TEST(WeightEvidence, parameters_of_a_recurrent_module_are_compared) {
  const std::vector<float> w = ramp(24, 0.1F), r = ramp(16, 0.15F);
  const auto in_onnx = [](std::vector<float> values) {  // gates i, f, g, o become i, o, f, g
    std::ranges::rotate(values.begin() + static_cast<std::ptrdiff_t>(values.size()) / 4,
                        values.end() - static_cast<std::ptrdiff_t>(values.size()) / 4,
                        values.end());
    return values;
  };
  const Module module({tensor_of("lstm.weight_ih_l0", DType::f32, {8, 3}, w),
                       tensor_of("lstm.weight_hh_l0", DType::f32, {8, 2}, r)});
  const auto named = [](Model model) {
    model.graph().mutable_node(0)->set_name("/lstm/LSTM");
    return model;
  };
  for (const auto& make : {recurrent, +[](const std::vector<float>&x, const std::vector<float>&y) {
                             return dynamically_quantized(x, y, false);
                           }}) {
    const auto same = evidence_of(module, named(make(in_onnx(w), in_onnx(r))));
    EXPECT_EQ(same->answer, Answer::same);
    EXPECT_EQ(same->paired, 2);
    EXPECT_EQ(evidence_of(module, named(make(in_onnx(w), r)))->answer, Answer::different);
  }
}

// PyTorch stores the gates as ifgo and exports nodes that reorder them; an optimiser computes
// these.
TEST(WeightEvidence, a_recurrent_weight_that_an_optimiser_computed_is_the_references) {
  std::vector<float> stored = ramp(24, 0.1F), ordered = stored;
  std::ranges::rotate(ordered.begin() + 6, ordered.begin() + 18, ordered.end());
  GraphBuilder builder;
  builder.input("x", DType::f32, {{5}, {1}, {3}}).output("y");
  builder.weight(tensor_of("raw", DType::f32, {8, 3}, stored))
      .weight(tensor_of<std::int64_t>("rows", DType::i64, {8}, {0, 1, 6, 7, 2, 3, 4, 5}))
      .weight(tensor_of<std::int64_t>("axes", DType::i64, {1}, {0}))
      .weight(tensor_of("r", DType::f32, {1, 8, 2}, ramp(16, 0.15F)))
      .node("Gather", {"raw", "rows"}, {"a"})
      .node("Unsqueeze", {"a", "axes"}, {"w"})
      .node("LSTM", {"x", "w", "r"}, {"y"}, {int_attribute("hidden_size", 2)});
  const Model reference = builder.model();
  EXPECT_EQ(evidence_of(reference, recurrent(ordered, ramp(16, 0.15F))).answer, Answer::same);
  std::ranges::reverse(ordered);
  EXPECT_EQ(evidence_of(reference, recurrent(ordered, ramp(16, 0.15F))).answer, Answer::different);
}

TEST(WeightEvidence, an_initial_state_is_no_weight) {
  const std::vector<float> w = ramp(24, 0.1F), r = ramp(16, 0.15F);
  Model model = recurrent(w, r);
  for (const char* input : {"", "", "state"}) model.graph().mutable_node(0)->add_input(input);
  model.graph().add_initializer()->CopyFrom(
      make_tensor_proto(make_tensor("state", DType::f32, {1, 1, 2})));
  EXPECT_EQ(evidence_of(recurrent(w, r), model).weights.size(), 2U);
}

TEST(WeightEvidence, weights_of_a_dynamically_quantized_lstm_are_compared) {
  const std::vector<float> w = ramp(24, 0.1F), r = ramp(16, 0.15F);
  const Model reference = recurrent(w, r);
  for (const bool per_channel : {false, true}) {
    const WeightEvidence same = evidence_of(reference, dynamically_quantized(w, r, per_channel));
    EXPECT_EQ(same.answer, Answer::same) << per_channel;
    EXPECT_EQ(same.paired, 2);
    EXPECT_LE(*same.worst_steps, 0.501);
    std::vector<float> rolled = r;
    std::ranges::rotate(rolled, rolled.begin() + 2);
    const WeightEvidence different =
        evidence_of(reference, dynamically_quantized(w, rolled, per_channel));
    ASSERT_EQ(different.answer, Answer::different) << per_channel;
    EXPECT_EQ(different.weights[*different.most_different].candidate, "r_quantized");
  }
}

Model table(const Tensor& rows) {
  GraphBuilder builder;
  builder.input("i", DType::i64, {{2}}).output("y").weight(rows);
  return builder.node("Gather", {"table", "i"}, {"y"}).model();
}

Model quantized_table(const std::vector<float>& rows) {
  Tensor stored = make_tensor("table_Q4", DType::i4, {4, 32});
  Tensor whole = make_tensor("", DType::i8, {4, 32});
  std::ranges::transform(rows, elements<std::int8_t>(whole).begin(), [](float value) {
    return static_cast<std::int8_t>(std::nearbyint(value / 0.5F));
  });
  stored.bytes = convert(whole, DType::i4).bytes;
  GraphBuilder builder;
  builder.input("i", DType::i64, {{2}}).output("y").weight(stored);
  builder.weight(tensor_of("s", DType::f32, {4, 2}, std::vector<float>(8, 0.5F)))
      .node("GatherBlockQuantized", {"table_Q4", "i", "s"}, {"y"},
            {int_attribute("block_size", 16), int_attribute("gather_axis", 0),
             int_attribute("quantize_axis", 1)},
            "com.microsoft");
  return builder.model();
}

TEST(WeightEvidence, a_table_that_is_stored_in_blocks_is_compared) {
  std::vector<float> rows = ramp(128, 0.05F);
  const Model reference = table(tensor_of("table", DType::f32, {4, 32}, rows));
  const WeightEvidence same = evidence_of(reference, quantized_table(rows));
  EXPECT_EQ(same.answer, Answer::same);
  EXPECT_LE(*same.worst_steps, 0.501);
  std::ranges::rotate(rows, rows.begin() + 32);
  EXPECT_EQ(evidence_of(reference, quantized_table(rows)).answer, Answer::different);
}

// A weight of 4 bits whose scale was chosen by the error at the output clips by more than a step.
TEST(WeightEvidence, scales_of_four_bits_may_clip_and_no_more) {
  const std::vector<float> rows = ramp(128, 0.05F);
  const Model reference = table(tensor_of("table", DType::f32, {4, 32}, rows));
  const auto scaled = [&](float factor) {
    Model model = quantized_table(rows);
    scale_constant(model, "s", factor);
    return evidence_of(reference, model);
  };
  const WeightEvidence clipped = scaled(0.85F);
  EXPECT_GT(*clipped.worst_steps, 1.01);
  EXPECT_FALSE(clipped.weights[0].is_rounded());
  EXPECT_TRUE(scaled(1).weights[0].is_rounded());
  EXPECT_EQ(clipped.answer, Answer::same);
  EXPECT_EQ(scaled(1.5F).answer, Answer::different);
}

TEST(WeightEvidence, a_runner_without_parameters_tells_nothing) {
  EXPECT_EQ(evidence_of(Module({}), Model::load(fixture("mnist/mnist_cnn.onnx"))), std::nullopt);
}

TEST(WeightEvidence, without_weights_nothing_is_known) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{4, ""}}).node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_EQ(evidence_of(builder.model(), builder.model()).answer, Answer::unknown);
}

TEST(WeightEvidence, a_float_candidate_of_a_quantized_reference_has_its_weights) {
  EXPECT_EQ(evidence("mnist_cnn.int8.onnx", "mnist_cnn.onnx").answer, Answer::same);
}

}  // namespace
}  // namespace vernier
