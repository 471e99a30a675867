#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "tests/model_builder.h"

namespace vernier {

// What is wrong with a decoder.
struct DecoderFaults {
  bool swapped = false;        // the keys of the first two layers leave by each other's name
  bool position = false;       // behind a cache, positions are one too high
  bool cut = false;            // the first layer's keys lose their oldest token
  bool forgotten = false;      // the values of the first layer leave as zeros
  bool without_cache = false;  // it runs only where its cache is empty
  float weight_error = 0;      // added to every tenth number of the head
  float query_error = 0;       // the same of the first layer's queries
  // No fault: positions are no input, but follow from the cache.
  bool own_positions = false;
};

// A decoder of two layers that keeps keys and values, whose names say nothing: `x0` are tokens of
// 32, `x1` a mask, `x2` positions below 64, `c0` to `c3` the caches, `y` the logits, `d0` to `d3`
// what the caches become.
class SmallDecoder {
 public:
  explicit SmallDecoder(const DecoderFaults& faults = {}) : faults_(faults) {}

  Model model() {
    const std::vector<Dim> ids = {{-1, "n"}, {-1, "s"}};
    builder_.input("x0", DType::i64, ids).input("x1", DType::i64, {{-1, "n"}, {-1, "p + s"}});
    if (!faults_.own_positions) builder_.input("x2", DType::i64, ids);
    for (int i = 0; i < 4; ++i) {
      const std::string number = std::to_string(i);
      builder_.input("c" + number, DType::f32, {{-1, "n"}, {-1, "p"}, {width, ""}});
    }
    builder_.output("y", DType::f32, {{-1, "n"}, {-1, "s"}, {tokens, ""}});
    for (int i = 0; i < 4; ++i)
      builder_.output("d" + std::to_string(i), DType::f32, {{-1, "n"}, {-1, "p + s"}, {width, ""}});
    add_constants();
    add_embedding();
    for (int layer = 0; layer < 2; ++layer) add_layer(layer);
    Tensor head = noise("head", {width, tokens}, 7, 1.0F);
    const auto weights = elements<float>(head);
    for (std::size_t i = 0; i < weights.size(); i += 10) weights[i] += faults_.weight_error;
    builder_.weight(head).node("MatMul", {hidden_, "head"}, {"y"});
    return builder_.model();
  }

 private:
  static constexpr std::int64_t tokens = 32, places = 64, width = 8;

  // Numbers without a pattern, the same everywhere.
  static Tensor noise(const std::string& name, const Shape& shape, int seed, float scale) {
    Tensor tensor = make_tensor(name, DType::f32, shape);
    std::uint32_t state = 12345U + 1000U * static_cast<std::uint32_t>(seed);
    for (float& value : elements<float>(tensor)) {
      state = state * 1664525U + 1013904223U;
      value = scale * (static_cast<float>(state >> 8) / 8388608.0F - 1.0F);
    }
    return tensor;
  }

  void add_constants() {
    builder_.weight(tensor_of<std::int64_t>("zero", DType::i64, {}, {0}))
        .weight(tensor_of<std::int64_t>("one", DType::i64, {}, {1}))
        .weight(tensor_of<std::int64_t>("none", DType::i64, {1}, {0}))
        .weight(tensor_of<std::int64_t>("first", DType::i64, {1}, {1}))
        .weight(tensor_of<std::int64_t>("end", DType::i64, {1}, {1 << 30}))
        .weight(tensor_of<std::int64_t>("last_axis", DType::i64, {1}, {-1}))
        .weight(tensor_of<float>("low", DType::f32, {}, {-1e9F}))
        .weight(noise("words", {tokens, width}, 1, 1.0F))
        .weight(noise("places", {places, width}, 2, 1.0F));
  }

  void add_embedding() {
    std::string positions = "x2";
    builder_.node("Shape", {"c0"}, {"cache_dims"}).node("Gather", {"cache_dims", "one"}, {"past"});
    if (faults_.own_positions)
      builder_.node("Shape", {"x0"}, {"token_dims"})
          .node("Gather", {"token_dims", "one"}, {"fed"})
          .node("Add", {"past", "fed"}, {"all"})
          .node("Range", {"past", "all", "one"}, {"counted"})
          .node("Unsqueeze", {"counted", "none"}, {"x2"});
    if (faults_.position) {
      builder_.node("Min", {"past", "one"}, {"too_many"})
          .node("Add", {"x2", "too_many"}, {"moved"});
      positions = "moved";
    }
    if (faults_.without_cache)
      builder_.node("Gather", {"none", "past"}, {"no_past"})
          .node("Add", {positions, "no_past"}, {"positions"});
    if (faults_.without_cache) positions = "positions";
    builder_.node("Gather", {"words", "x0"}, {"word"})
        .node("Gather", {"places", positions}, {"place"})
        .node("Add", {"word", "place"}, {"h0"})
        .node("Shape", {"x1"}, {"mask_dims"})
        .node("Gather", {"mask_dims", "one"}, {"total"})
        .node("Range", {"zero", "total", "one"}, {"columns"})
        .node("Unsqueeze", {"x2", "last_axis"}, {"rows"})
        .node("LessOrEqual", {"columns", "rows"}, {"causal"})
        .node("Cast", {"x1"}, {"shown"}, {int_attribute("to", 9)})
        .node("Unsqueeze", {"shown", "first"}, {"shown_rows"})
        .node("And", {"causal", "shown_rows"}, {"allowed"});
    hidden_ = "h0";
  }

  void add_layer(int layer) {
    const std::string n = std::to_string(layer);
    for (const char* part : {"q", "k", "v"}) {
      const std::string weight = part + ("w" + n);
      Tensor values = noise(weight, {width, width}, 10 * layer + part[0], 0.6F);
      if (layer == 0 && part[0] == 'q')
        for (std::size_t i = 0; i < elements<float>(values).size(); i += 10)
          elements<float>(values)[i] += faults_.query_error;
      builder_.weight(values).node("MatMul", {hidden_, weight}, {part + n});
    }
    const int keys = 2 * layer, swapped = faults_.swapped ? 2 - keys : keys;
    const std::string values = "d" + std::to_string(keys + 1);
    const std::string all = "keys" + n, all_values = "values" + n;
    builder_
        .node("Concat", {"c" + std::to_string(keys), "k" + n}, {all}, {int_attribute("axis", 1)})
        .node("Concat", {"c" + std::to_string(keys + 1), "v" + n}, {all_values},
              {int_attribute("axis", 1)});
    if (faults_.forgotten && layer == 0)
      builder_.node("Sub", {all_values, all_values}, {values});
    else
      builder_.node("Identity", {all_values}, {values});
    const std::string left = "d" + std::to_string(swapped);
    if (faults_.cut && layer == 0)
      builder_.node("Slice", {all, "first", "end", "first"}, {left});
    else
      builder_.node("Identity", {all}, {left});
    vernier_onnx::AttributeProto order;
    order.set_name("perm");
    order.set_type(vernier_onnx::AttributeProto::INTS);
    for (const int axis : {0, 2, 1}) order.add_ints(axis);
    const std::string next = "h" + std::to_string(layer + 1);
    builder_.node("Transpose", {all}, {"transposed" + n}, {order})
        .node("MatMul", {"q" + n, "transposed" + n}, {"scores" + n})
        .node("Where", {"allowed", "scores" + n, "low"}, {"masked" + n})
        .node("Softmax", {"masked" + n}, {"share" + n}, {int_attribute("axis", -1)})
        .node("MatMul", {"share" + n, all_values}, {"seen" + n})
        .node("Add", {hidden_, "seen" + n}, {next});
    hidden_ = next;
  }

  DecoderFaults faults_;
  GraphBuilder builder_;
  std::string hidden_;
};

inline Model small_decoder(const DecoderFaults& faults = {}) {
  return SmallDecoder(faults).model();
}

// The nodes of a decoder as one branch of a merged one: with a cache, or without, as the prompt's.
// Beside an encoder, tokens also see the mean of what `d4` holds: the prompt computes it, and
// behind it the branch with the cache reads it as `c4` and passes nothing on.
inline vernier_onnx::GraphProto decoder_branch(const vernier_onnx::GraphProto& whole,
                                               bool with_cache, bool encoder) {
  vernier_onnx::AttributeProto axes;
  axes.set_name("axes");
  axes.set_type(vernier_onnx::AttributeProto::INTS);
  axes.add_ints(1);
  GraphBuilder branch(with_cache ? "with_cache" : "without_cache");
  for (const auto& output : whole.output()) *branch.graph().add_output() = output;
  for (const auto& node : whole.node()) {
    std::vector<std::string> inputs(node.input().begin(), node.input().end());
    const bool is_head = node.output(0) == "y";
    if (encoder && is_head) {
      if (with_cache)
        branch.node("Slice", {"c4", "none", "none", "none"}, {"d4"});
      else
        branch.node("MatMul", {"e", "encoder_weight"}, {"d4"});
      branch.node("ReduceMean", {with_cache ? "c4" : "d4"}, {"seen_of_encoder"}, {axes})
          .node("Add", {inputs[0], "seen_of_encoder"}, {"with_encoder"});
      inputs[0] = "with_encoder";
    }
    const bool joins_cache = node.op_type() == "Concat" && inputs[0].starts_with("c");
    if (joins_cache && !with_cache)
      branch.node("Identity", {inputs[1]}, {node.output(0)});
    else
      branch.node(node.op_type(), inputs, {node.output().begin(), node.output().end()},
                  {node.attribute().begin(), node.attribute().end()});
  }
  return branch;
}

// The decoder in one file, as exporters merge two: `b` says whether there is a cache. With an
// encoder, `e` is what that found, and `c4`, `d4` are its keys, whose length stays.
inline Model merged_decoder(const DecoderFaults& faults = {}, bool encoder = false) {
  Model model = small_decoder(faults);
  vernier_onnx::GraphProto& graph = model.graph();
  GraphBuilder merged;
  for (const auto& input : graph.input()) *merged.graph().add_input() = input;
  for (const auto& weight : graph.initializer()) *merged.graph().add_initializer() = weight;
  if (encoder) {
    const std::vector<Dim> keys = {{-1, "n"}, {-1, "t_out"}, {8, ""}};
    merged.input("c4", DType::f32, keys).input("e", DType::f32, {{-1, "n"}, {-1, "t"}, {8, ""}});
    Tensor weight = make_tensor("encoder_weight", DType::f32, {8, 8});
    for (std::int64_t i = 0; i < 8; ++i) elements<float>(weight)[i * 8 + (i + 3) % 8] = 0.5F;
    merged.weight(weight);
    GraphBuilder more;
    more.output("d4", DType::f32, keys);
    *graph.add_output() = more.graph().output(0);
  }
  merged.input("b", DType::boolean, {{1, ""}});
  std::vector<std::string> outputs;
  for (const auto& output : graph.output()) {
    *merged.graph().add_output() = output;
    outputs.push_back(output.name());
  }
  merged.node("If", {"b"}, outputs,
              {graph_attribute("then_branch", decoder_branch(graph, true, encoder)),
               graph_attribute("else_branch", decoder_branch(graph, false, encoder))});
  return merged.model();
}

}  // namespace vernier
