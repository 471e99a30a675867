// Faults put into ONNX graphs whose names are lost: each must be found where it is and called what
// it is.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/fixture.h"
#include "tests/onnx_edits.h"
#include "tests/shared_data.h"
#include "tests/temporary_directory.h"
#include "vernier/analysis/layers/layers.h"
#include "vernier/data/random.h"
#include "vernier/model/index.h"
#include "vernier/report/layers.h"
#include "vernier/runtime/stopping.h"

namespace vernier {
namespace {

std::vector<std::string> outputs_of(const Model& model, const std::string& op) {
  std::vector<std::string> names;
  for (const NodeProto& node : model.graph().node())
    if (node.op_type() == op) names.push_back(node.output(0));
  return names;
}

NodeProto& writer(Model& model, const std::string& tensor) {
  for (NodeProto& node : *model.graph().mutable_node())
    if (node.output(0) == tensor) return node;
  throw std::out_of_range(tensor);
}

// Takes the node out; what read it reads its first operand.
void remove_writer(Model& model, const std::string& tensor) {
  const std::string input = writer(model, tensor).input(0);
  auto& nodes = *model.graph().mutable_node();
  nodes.erase(
      std::ranges::find_if(nodes, [&](const NodeProto& node) { return node.output(0) == tensor; }));
  if (std::ranges::none_of(model.graph().output(),
                           [&](const auto& output) { return output.name() == tensor; }))
    return rewire(model, tensor, input);
  rewire(model, input, tensor);
  writer(model, input).set_output(0, tensor);
}

// A small network with what real ones have: folded convolutions, a residual path, branches that are
// concatenated, a slope, a batch norm, and a Softmax at its end.
Model network() {
  const auto filled = [](const std::string& name, const Shape& shape, int seed) {
    Tensor tensor = make_tensor(name, DType::f32, shape);
    unsigned state = 12345U + static_cast<unsigned>(seed);
    for (float& value : elements<float>(tensor)) {
      state = state * 1664525U + 1013904223U;
      value = static_cast<float>(state >> 8) / (1 << 23) - 1;
    }
    return tensor;
  };
  const auto ints = [](const std::string& name, const std::vector<std::int64_t>& values) {
    vernier_onnx::AttributeProto attribute;
    attribute.set_name(name);
    attribute.set_type(vernier_onnx::AttributeProto::INTS);
    for (const std::int64_t value : values) attribute.add_ints(value);
    return attribute;
  };
  const auto number = [](const std::string& name, float value) {
    vernier_onnx::AttributeProto attribute;
    attribute.set_name(name);
    attribute.set_type(vernier_onnx::AttributeProto::FLOAT);
    attribute.set_f(value);
    return attribute;
  };
  const auto pads = ints("pads", {1, 1, 1, 1});
  GraphBuilder graph;
  graph.input("x", DType::f32, {{1}, {3}, {8}, {8}}).output("probabilities");
  int seed = 0;
  const auto conv = [&](const std::string& name, const std::string& from, int in, int out) {
    graph.weight(filled(name + ".w", {out, in, 3, 3}, ++seed));
    graph.weight(filled(name + ".b", {out}, ++seed));
    graph.node("Conv", {from, name + ".w", name + ".b"}, {name}, {pads});
  };
  conv("conv1", "x", 3, 8);
  graph.node("Relu", {"conv1"}, {"relu1"});
  conv("conv2", "relu1", 8, 8);
  graph.node("LeakyRelu", {"conv2"}, {"leaky"}, {number("alpha", 0.1F)});
  graph.node("Add", {"leaky", "relu1"}, {"sum"});
  for (const char* name : {"scale", "shift", "mean"}) graph.weight(filled(name, {8}, ++seed));
  Tensor variance = filled("variance", {8}, ++seed);
  for (float& value : elements<float>(variance)) value = value * value + 0.1F;
  graph.weight(variance);
  graph.node("BatchNormalization", {"sum", "scale", "shift", "mean", "variance"}, {"norm"},
             {number("epsilon", 1e-5F)});
  conv("left", "norm", 8, 4);
  graph.node("Relu", {"left"}, {"left_relu"});
  conv("right", "norm", 8, 4);
  graph.node("Sigmoid", {"right"}, {"right_sigmoid"});
  graph.node("Concat", {"left_relu", "right_sigmoid"}, {"both"}, {int_attribute("axis", 1)});
  conv("last", "both", 8, 5);
  graph.node("GlobalAveragePool", {"last"}, {"pooled"});
  graph.node("Flatten", {"pooled"}, {"logits"}, {int_attribute("axis", 1)});
  graph.node("Softmax", {"logits"}, {"probabilities"}, {int_attribute("axis", 1)});
  return graph.model();
}

class OnnxFaults : public ::testing::Test {
 protected:
  void use(const Model& model) {
    reference_ = model.clone();
    reference_->save(folder_ / "reference.onnx");
  }

  LayersResult validate(const Model& candidate) const {
    const auto samples =
        random_samples(candidate.inputs(), {.samples = 1, .distribution = Distribution::normal});
    return validate_layers(ModelIndex(candidate), *samples,
                           {.reference = folder_ / "reference.onnx"});
  }

  // With the names of the reference, and without.
  template <typename Inject>
  void expect_found(Inject inject, const std::string& layer, Cause cause) const {
    for (const bool named : {true, false}) {
      SCOPED_TRACE(layer + ", " + std::string(cause_name(cause)) +
                   (named ? "" : ", without names"));
      Model candidate = reference_->clone();
      inject(candidate);
      if (!named) lose_names(candidate);
      const LayersResult result = validate(candidate);
      EXPECT_FALSE(result.pass());
      if (!result.drift_origin) {
        ADD_FAILURE() << "nothing is out of tolerance";
        continue;
      }
      const LayerRow& origin = result.rows[*result.drift_origin];
      EXPECT_EQ(origin.layer, layer);
      EXPECT_EQ(cause_name(origin.cause), cause_name(cause))
          << describe_evidence(origin, result.rows);
      for (std::size_t i = *result.drift_origin + 1; i < result.rows.size(); ++i)
        if (result.rows[i].exceeds) {
          EXPECT_EQ(cause_name(result.rows[i].cause), "inherited") << result.rows[i].layer;
        }
    }
  }

  void expect_nothing_found() const {
    Model candidate = reference_->clone();
    EXPECT_TRUE(validate(candidate).pass());
    lose_names(candidate);
    const LayersResult result = validate(candidate);
    EXPECT_TRUE(result.pass());
    EXPECT_TRUE(result.weight_mismatches.empty());
  }

  TemporaryDirectory folder_;
  std::optional<Model> reference_;
};

TEST_F(OnnxFaults, none_injected_none_reported) {
  use(network());
  expect_nothing_found();
}

TEST_F(OnnxFaults, weights_and_biases_are_called_that) {
  use(network());
  for (const char* layer : {"conv1", "conv2", "right", "last"}) {
    expect_found(
        [&](Model& model) { edit_weight(model, std::string(layer) + ".w", one_percent_up); }, layer,
        Cause::weight_bit_mismatch);
    expect_found(
        [&](Model& model) {
          edit_weight(model, std::string(layer) + ".b", [](std::span<float> values) {
            for (float& value : values) value += 1;
          });
        },
        layer, Cause::weight_bit_mismatch);
  }
}

TEST_F(OnnxFaults, missing_operators_are_found_where_they_are) {
  use(network());
  for (const char* layer :
       {"relu1", "leaky", "sum", "norm", "left_relu", "right_sigmoid", "probabilities"})
    expect_found([&](Model& model) { remove_writer(model, layer); }, layer,
                 Cause::missing_or_extra_op);
}

TEST_F(OnnxFaults, an_added_softmax_is_an_extra_operator) {
  use(network());
  expect_found(
      [](Model& model) {
        writer(model, "probabilities").set_output(0, "once");
        NodeProto& again = *model.graph().add_node();
        again = make_node("Softmax", {int_attribute("axis", 1)});
        again.add_input("once");
        again.add_output("probabilities");
      },
      "probabilities", Cause::missing_or_extra_op);
}

TEST_F(OnnxFaults, attributes_have_a_cause_of_their_own) {
  use(network());
  const auto pads = [](const std::string& layer) {
    return [layer](Model& model) {
      auto& ints = *writer(model, layer).mutable_attribute(0)->mutable_ints();
      ints[0] = ints[1] = 0, ints[2] = ints[3] = 2;
    };
  };
  for (const char* layer : {"conv1", "conv2", "left", "last"})
    expect_found(pads(layer), layer, Cause::attribute_mismatch);
  expect_found([](Model& model) { writer(model, "leaky").mutable_attribute(0)->set_f(0.2F); },
               "leaky", Cause::attribute_mismatch);
  expect_found([](Model& model) { writer(model, "norm").mutable_attribute(0)->set_f(0.1F); },
               "norm", Cause::attribute_mismatch);
}

// Scores behind a mask are -inf on both sides.
TEST_F(OnnxFaults, an_attribute_is_proven_where_values_are_masked) {
  vernier_onnx::AttributeProto slope;
  slope.set_name("alpha");
  slope.set_type(vernier_onnx::AttributeProto::FLOAT);
  slope.set_f(0.1F);
  std::vector<float> mask(16);
  mask.back() = -INFINITY;
  GraphBuilder graph;
  graph.input("x", DType::f32, {{1}, {16}})
      .output("y")
      .weight(tensor_of<float>("mask", DType::f32, {16}, mask))
      .node("Add", {"x", "mask"}, {"scores"})
      .node("LeakyRelu", {"scores"}, {"leaky"}, {slope})
      .node("Softmax", {"leaky"}, {"y"}, {int_attribute("axis", 1)});
  use(graph.model());
  expect_found([](Model& model) { writer(model, "leaky").mutable_attribute(0)->set_f(0.3F); },
               "leaky", Cause::attribute_mismatch);
}

// Stopped behind its only sample, before the layers are run on the reference's tensors.
TEST_F(OnnxFaults, an_interrupt_is_no_candidate_that_does_not_run) {
  use(network());
  Model candidate = network();
  edit_weight(candidate, "conv1.w", one_percent_up);
  const auto group = std::make_shared<RunGroup>();
  const RunGroupScope scope(group);
  const auto samples =
      random_samples(candidate.inputs(), {.samples = 1, .distribution = Distribution::normal});
  const auto stop = [&](std::int64_t, std::int64_t) {
    group->stop();
    return true;
  };
  EXPECT_THROW(validate_layers(ModelIndex(candidate), *samples,
                               {.reference = folder_ / "reference.onnx", .progress = stop}),
               Stopped);
}

// The running statistics moved when it was exported.
TEST_F(OnnxFaults, a_norm_in_training_mode_is_called_that_though_its_weights_differ) {
  use(network());
  expect_found(
      [](Model& model) {
        edit_weight(model, "mean", one_percent_up);
        NodeProto& norm = writer(model, "norm");
        *norm.add_attribute() = int_attribute("training_mode", 1);
        norm.add_output("new_mean");
        norm.add_output("new_variance");
      },
      "norm", Cause::missing_or_extra_op);
}

// The reference has the norm behind conv1 in its weights.
TEST_F(OnnxFaults, a_norm_that_only_the_reference_folded_is_no_drift) {
  Model unfolded = network();
  for (const auto& [name, value] :
       {std::pair{"ones", 1.0F}, {"zeros", 0.0F}, {"means", 0.25F}, {"variances", 1.0F}})
    unfolded.graph().add_initializer()->CopyFrom(
        make_tensor_proto(tensor_of<float>(name, DType::f32, {8}, std::vector<float>(8, value))));
  NodeProto norm = make_node("BatchNormalization");
  for (const char* input : {"", "ones", "zeros", "means", "variances"}) norm.add_input(input);
  vernier_onnx::AttributeProto epsilon;
  epsilon.set_name("epsilon");
  epsilon.set_type(vernier_onnx::AttributeProto::FLOAT);
  epsilon.set_f(0);
  *norm.add_attribute() = epsilon;
  writer(unfolded, "conv1").set_name("first");
  insert_after(unfolded, "first", {norm});
  writer(unfolded, "relu1").set_input(0, "apart");
  writer(unfolded, "conv1").set_output(0, "apart");
  writer(unfolded, "apart").set_input(0, "conv1");
  writer(unfolded, "conv1_before").set_output(0, "conv1");
  Model folded = network();
  edit_weight(folded, "conv1.b", [](std::span<float> values) {
    for (float& value : values) value -= 0.25F;
  });
  use(folded);
  const LayersResult result = validate(unfolded);
  EXPECT_EQ(result.layers_exceeding, 0);
  EXPECT_EQ(result.rows[0].layer, "conv1");
  EXPECT_EQ(result.rows[0].tensor, "apart");
}

// A first sample above zero, and a second one below.
class AboveAndBelow : public Samples {
 public:
  std::int64_t size() const override { return 2; }
  std::vector<Tensor> sample(std::int64_t index) override {
    Tensor x = make_tensor("x", DType::f32, {1, 8});
    for (std::int64_t i = 0; i < 8; ++i)
      elements<float>(x)[i] = static_cast<float>(i + 1) * (index == 0 ? 0.1F : -0.1F);
    return {x};
  }
};

TEST_F(OnnxFaults, what_only_a_later_sample_shows_is_explained_by_that_sample) {
  const auto graph = [](float alpha) {
    vernier_onnx::AttributeProto slope;
    slope.set_name("alpha");
    slope.set_type(vernier_onnx::AttributeProto::FLOAT);
    slope.set_f(alpha);
    GraphBuilder builder;
    return builder.input("x", DType::f32, {{1}, {8}})
        .output("y")
        .node("Neg", {"x"}, {"n"})
        .node("Neg", {"n"}, {"a"})
        .node("LeakyRelu", {"a"}, {"c"}, {slope})
        .node("Exp", {"c"}, {"y"})
        .model();
  };
  use(graph(0.1F));
  AboveAndBelow samples;
  const LayersResult result =
      validate_layers(ModelIndex(graph(0.3F)), samples, {.reference = folder_ / "reference.onnx"});
  ASSERT_TRUE(result.drift_origin);
  const LayerRow& origin = result.rows[*result.drift_origin];
  EXPECT_EQ(origin.layer, "c");
  EXPECT_EQ(cause_name(origin.cause), cause_name(Cause::attribute_mismatch));
  EXPECT_EQ(cause_name(result.rows.back().cause), cause_name(Cause::inherited));
}

TEST_F(OnnxFaults, operands_in_another_order_have_a_cause_of_their_own) {
  use(network());
  expect_found([](Model& model) { writer(model, "both").mutable_input()->SwapElements(0, 1); },
               "both", Cause::operand_mismatch);
}

TEST_F(OnnxFaults, an_operand_that_is_a_constant_has_its_place_too) {
  for (const bool in_a_node : {false, true}) {
    const Tensor two = tensor_of<float>("two", DType::f32, {}, {2});
    GraphBuilder graph;
    graph.input("x", DType::f32, {{1}, {8}}).output("y");
    if (in_a_node)
      graph.node("Constant", {}, {"two"}, {tensor_attribute("value", two)});
    else
      graph.weight(two);
    graph.node("Exp", {"x"}, {"e"}).node("Div", {"e", "two"}, {"d"}).node("Neg", {"d"}, {"y"});
    use(graph.model());
    expect_found([](Model& model) { writer(model, "d").mutable_input()->SwapElements(0, 1); }, "d",
                 Cause::operand_mismatch);
  }
}

TEST_F(OnnxFaults, an_activation_is_missing_though_no_figure_shows_it) {
  GraphBuilder graph;
  graph.input("x", DType::f32, {{1}, {8}}).output("y");
  graph.node("Exp", {"x"}, {"e"}).node("Relu", {"e"}, {"r"}).node("Neg", {"r"}, {"y"});
  use(graph.model());
  Model candidate = reference_->clone();
  remove_writer(candidate, "r");
  const LayersResult result = validate(candidate);
  ASSERT_TRUE(result.drift_origin);
  EXPECT_EQ(result.rows[*result.drift_origin].layer, "r");
  EXPECT_EQ(result.rows[*result.drift_origin].cause, Cause::missing_or_extra_op);
  EXPECT_EQ(result.layers_exceeding, 1);
  EXPECT_FALSE(result.pass());
}

// All names are others, so that it cannot be said which one is missing.
TEST_F(OnnxFaults, a_missing_activation_that_cannot_be_named_is_no_pass) {
  GraphBuilder graph, renamed;
  graph.input("x", DType::f32, {{1}, {8}}).output("y");
  graph.node("Exp", {"x"}, {"e"}).node("Relu", {"e"}, {"r"}).node("Neg", {"r"}, {"n"});
  graph.node("Neg", {"n"}, {"p"}).node("Relu", {"p"}, {"y"});
  use(graph.model());
  renamed.input("x", DType::f32, {{1}, {8}}).output("y");
  renamed.node("Exp", {"x"}, {"1"}).node("Neg", {"1"}, {"2"}).node("Neg", {"2"}, {"3"});
  renamed.node("Relu", {"3"}, {"y"});
  const LayersResult result = validate(renamed.model());
  EXPECT_FALSE(result.pass());
}

TEST_F(OnnxFaults, operators_that_are_missing_in_a_row_are_listed_once) {
  GraphBuilder graph;
  graph.input("x", DType::f32, {{1}, {8}}).output("y");
  graph.node("Neg", {"x"}, {"n"})
      .node("Exp", {"n"}, {"a"})
      .node("Sqrt", {"a"}, {"b"})
      .node("Add", {"b", "n"}, {"c"})
      .node("Sin", {"c"}, {"y"});
  use(graph.model());
  GraphBuilder undecoded;
  undecoded.input("x", DType::f32, {{1}, {8}}).output("y").node("Neg", {"x"}, {"y"});
  const LayersResult result = validate(undecoded.model());
  ASSERT_TRUE(result.drift_origin);
  EXPECT_EQ(std::ranges::count(result.rows, Cause::missing_or_extra_op, &LayerRow::cause), 1);
  EXPECT_EQ(std::ranges::count(result.verdict.failures, FailureKind::missing, &Failure::kind), 1);
}

// Two convolutions with so many channels between them.
Model narrow_network(std::int64_t channels) {
  GraphBuilder graph;
  const auto weight = [](const std::string& name, const Shape& shape) {
    Tensor tensor = make_tensor(name, DType::f32, shape);
    float value = static_cast<float>(shape[0]);
    for (float& element : elements<float>(tensor)) element = std::sin(value += 0.7F);
    return tensor;
  };
  graph.input("x", DType::f32, {{1}, {1}, {4}, {4}}).output("y");
  graph.weight(weight("first.w", {channels, 1, 3, 3}));
  graph.weight(weight("second.w", {2, channels, 2, 2}));
  graph.node("Conv", {"x", "first.w"}, {"first"})
      .node("Relu", {"first"}, {"relu"})
      .node("Conv", {"relu", "second.w"}, {"y"});
  return graph.model();
}

TEST_F(OnnxFaults, another_network_with_layers_of_these_names_has_other_weights) {
  use(narrow_network(4));
  const LayersResult result = validate(narrow_network(6));
  EXPECT_EQ(result.drift_origin, 0u);
  EXPECT_EQ(result.rows[0].cause, Cause::other_weights);
  EXPECT_EQ(std::ranges::count(result.rows, Cause::weight_bit_mismatch, &LayerRow::cause), 0);
  EXPECT_EQ(result.weights->answer, WeightEvidence::Answer::different);
}

TEST_F(OnnxFaults, another_weight_fails_unless_weights_are_left_out) {
  use(network());
  Model candidate = reference_->clone();
  edit_weight(candidate, "last.w", [](std::span<float> values) {
    for (float& value : values) value *= 1.0001F;
  });
  const auto samples = random_samples(candidate.inputs(), {.samples = 1});
  LayersOptions options{.reference = folder_ / "reference.onnx", .tolerance = 10};
  const LayersResult result = validate_layers(ModelIndex(candidate), *samples, options);
  EXPECT_FALSE(result.pass());
  EXPECT_EQ(result.verdict.failures.at(0).subject, "last.w");
  options.weight_evidence = false;
  EXPECT_TRUE(validate_layers(ModelIndex(candidate), *samples, options).pass());
}

TEST_F(OnnxFaults, another_checkpoint_is_called_that_once) {
  use(network());
  expect_found(
      [](Model& model) {
        for (const char* layer : {"conv1", "conv2", "left", "right", "last"})
          for (const char* weight : {".w", ".b"})
            edit_weight(model, std::string(layer) + weight, [](std::span<float> values) {
              std::ranges::rotate(values, values.begin() + 3);
            });
      },
      "conv1", Cause::other_weights);
}

TEST_F(OnnxFaults, another_network_whose_shapes_do_not_fit_is_a_result_and_no_error) {
  const auto folder = shared_data("wild/face");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << folder << " is not there";
  use(Model::load(folder / "rfb320.onnx"));
  EXPECT_FALSE(validate(Model::load(folder / "slim320.onnx")).pass());
}

Tensor noise(const std::string& name, const Shape& shape, unsigned seed) {
  Tensor tensor = make_tensor(name, DType::f32, shape);
  unsigned state = 12345U + seed;
  for (float& value : elements<float>(tensor)) {
    state = state * 1664525U + 1013904223U;
    value = static_cast<float>(state >> 8) / (1 << 23) - 1;
  }
  return tensor;
}

// The three weights side by side, as an optimiser stores them that merges products.
Tensor side_by_side(const std::string& name, const std::array<Tensor, 3>& weights) {
  Tensor merged = make_tensor(name, DType::f32, {8, 24});
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t row = 0; row < 8; ++row)
      std::ranges::copy(elements<float>(weights[i]).subspan(row * 8, 8),
                        elements<float>(merged).begin() + row * 24 + i * 8);
  return merged;
}

std::array<Tensor, 3> projections() {
  return {noise("q.w", {8, 8}, 1), noise("k.w", {8, 8}, 2), noise("v.w", {8, 8}, 3)};
}

GraphBuilder rows_of_eight() {
  GraphBuilder graph;
  graph.input("x", DType::f32, {{1}, {4}, {8}}).output("y").node("Tanh", {"x"}, {"h"});
  return graph;
}

// Three products of the same tensor, as those of attention.
Model separate_products() {
  GraphBuilder graph = rows_of_eight();
  for (const Tensor& weight : projections()) {
    graph.weight(weight);
    graph.node("MatMul", {"h", weight.name}, {weight.name.substr(0, 1)});
    graph.node("Neg", {weight.name.substr(0, 1)}, {weight.name.substr(0, 1) + ".act"});
  }
  graph.node("Mul", {"q.act", "k.act"}, {"qk"});
  graph.node("Add", {"qk", "v.act"}, {"y"});
  return graph.model();
}

// The same with one product, of the name `product`, and a Split.
Model merged_products(const std::string& product, const std::array<Tensor, 3>& weights) {
  GraphBuilder graph = rows_of_eight();
  graph.weight(side_by_side("qkv.w", weights));
  graph.weight(tensor_of<std::int64_t>("sizes", DType::i64, {3}, {8, 8, 8}));
  graph.node("MatMul", {"h", "qkv.w"}, {product});
  graph.node("Split", {product, "sizes"}, {"part.q", "part.k", "part.v"},
             {int_attribute("axis", 2)});
  for (const char* part : {"q", "k", "v"})
    graph.node("Neg", {std::string("part.") + part}, {std::string(part) + ".act"});
  graph.node("Mul", {"q.act", "k.act"}, {"qk"});
  graph.node("Add", {"qk", "v.act"}, {"y"});
  return graph.model();
}

const LayerRow& row_of(const LayersResult& result, const std::string& layer) {
  return *std::ranges::find(result.rows, layer, &LayerRow::layer);
}

// Whether the name is lost or kept: by topology, the merged product is q's as well.
TEST_F(OnnxFaults, products_that_were_merged_are_found_behind_the_split) {
  use(separate_products());
  for (const char* name : {"q", "merged"}) {
    SCOPED_TRACE(name);
    const LayersResult result = validate(merged_products(name, projections()));
    EXPECT_TRUE(result.pass());
    EXPECT_FALSE(result.drift_origin);
    for (const char* layer : {"q", "k", "v"}) {
      EXPECT_EQ(row_of(result, layer).match, Match::value);
      EXPECT_EQ(row_of(result, layer).tensor, std::string("part.") + layer);
    }
  }
}

TEST_F(OnnxFaults, a_product_that_was_merged_with_another_weight_fails) {
  use(separate_products());
  std::array<Tensor, 3> weights = projections();
  one_percent_up(elements<float>(weights[0]));
  const LayersResult result = validate(merged_products("q", weights));
  EXPECT_FALSE(result.pass());
  ASSERT_TRUE(result.drift_origin);
  EXPECT_EQ(result.rows[*result.drift_origin].layer, "q");
}

// The parts of q are in no tensor of their own: the next operators compute all three at once.
TEST_F(OnnxFaults, a_product_that_is_a_part_of_a_merged_one_is_fused) {
  use(separate_products());
  GraphBuilder graph = rows_of_eight();
  graph.weight(side_by_side("qkv.w", projections()));
  graph.weight(tensor_of<std::int64_t>("sizes", DType::i64, {3}, {8, 8, 8}));
  graph.node("MatMul", {"h", "qkv.w"}, {"q"});
  graph.node("Neg", {"q"}, {"all"});
  graph.node("Split", {"all", "sizes"}, {"one", "two", "three"}, {int_attribute("axis", 2)});
  graph.node("Mul", {"one", "two"}, {"qk"}).node("Add", {"qk", "three"}, {"y"});
  const LayersResult result = validate(graph.model());
  EXPECT_TRUE(result.pass());
  EXPECT_EQ(row_of(result, "q").match, Match::fused);
  EXPECT_EQ(row_of(result, "q.act").match, Match::value);
}

// An added operator has the layer's name, and nothing behind it shows that.
TEST_F(OnnxFaults, a_layer_of_another_shape_fails_though_its_values_are_before_it) {
  const auto model = [](bool is_doubled) {
    GraphBuilder graph = rows_of_eight();
    graph.node("Sigmoid", {"h"}, {is_doubled ? "single" : "act"});
    if (is_doubled) graph.node("Concat", {"single", "single"}, {"act"}, {int_attribute("axis", 2)});
    return graph.node("ReduceMax", {"act"}, {"y"}, {int_attribute("keepdims", 1)}).model();
  };
  use(model(false));
  const LayersResult result = validate(model(true));
  EXPECT_FALSE(result.pass());
  EXPECT_EQ(row_of(result, "act").candidate_shape, (Shape{1, 4, 16}));
}

TEST_F(OnnxFaults, an_output_of_another_shape_fails_though_a_part_of_it_is_right) {
  const auto model = [](bool is_doubled) {
    GraphBuilder graph = rows_of_eight();
    graph.node("Sigmoid", {"h"}, {is_doubled ? "single" : "y"});
    if (is_doubled) graph.node("Concat", {"single", "h"}, {"y"}, {int_attribute("axis", 2)});
    return graph.model();
  };
  use(model(false));
  const LayersResult result = validate(model(true));
  EXPECT_FALSE(result.pass());
  EXPECT_EQ(row_of(result, "y").candidate_shape, (Shape{1, 4, 16}));
}

TEST_F(OnnxFaults, a_simplified_detector_without_names) {
  const auto path = shared_data("wild/detect/fastestdet.onnx");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << path << " is not there";
  use(Model::load(path));
  const std::vector<std::string> convs = outputs_of(*reference_, "Conv");
  const std::vector<std::string> relus = outputs_of(*reference_, "Relu");
  for (const std::size_t i : {0, 20, 69})
    expect_found(
        [&](Model& model) { edit_weight(model, writer(model, convs[i]).input(1), one_percent_up); },
        convs[i], Cause::weight_bit_mismatch);
  for (const std::size_t i : {0, 1, 20, 35, 47})
    expect_found([&](Model& model) { remove_writer(model, relus[i]); }, relus[i],
                 Cause::missing_or_extra_op);
  for (const char* op : {"Add", "Sigmoid", "Softmax"}) {
    const std::string layer = outputs_of(*reference_, op).front();
    expect_found([&](Model& model) { remove_writer(model, layer); }, layer,
                 Cause::missing_or_extra_op);
  }
  const std::string concat = outputs_of(*reference_, "Concat")[5];
  expect_found([&](Model& model) { writer(model, concat).mutable_input()->SwapElements(0, 1); },
               concat, Cause::operand_mismatch);
}

// Of inputs between 0 and 1, whose powers no bound at 6 shows.
TEST(OnnxBounds, one_that_made_up_inputs_never_reach_is_no_pass) {
  const auto bounded = [](bool is_bounded) {
    GraphBuilder builder;
    builder.input("x", DType::f32, {{1}, {4}})
        .weight(tensor_of<float>("low", DType::f32, {}, {0}))
        .weight(tensor_of<float>("high", DType::f32, {}, {6}))
        .node("Exp", {"x"}, {"a"});
    if (is_bounded)
      builder.node("Clip", {"a", "low", "high"}, {"y"});
    else
      builder.node("Relu", {"a"}, {"y"});
    return builder.output("y").model();
  };
  const TemporaryDirectory folder;
  bounded(true).save(folder.path() / "reference.onnx");
  const auto outcome = [&](bool is_bounded, bool real_inputs) {
    const Model candidate = bounded(is_bounded);
    const auto samples = random_samples(candidate.inputs(), {.samples = 2});
    return validate_layers(
               ModelIndex(candidate), *samples,
               {.reference = folder.path() / "reference.onnx", .real_inputs = real_inputs})
        .verdict.outcome;
  };
  EXPECT_EQ(outcome(true, false), Outcome::pass);
  EXPECT_EQ(outcome(false, false), Outcome::inconclusive);
  EXPECT_EQ(outcome(false, true), Outcome::pass);
}

}  // namespace
}  // namespace vernier
