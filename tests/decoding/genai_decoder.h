#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/model_builder.h"

namespace vernier {

// What a decoder of fused operators is like.
struct FusedDecoderOptions {
  bool four_bits = false;  // weights of products in blocks of 32 (MatMulNBits)
  bool rotary = true;      // queries and keys have a rotary embedding
  bool masked = true;      // lengths are computed from a mask; else they are inputs
};

// A decoder of two layers as onnxruntime-genai makes them: GroupQueryAttention with rotary caches,
// SkipSimplifiedLayerNormalization, lengths computed from the mask; tokens of 64, two heads of 16
// and one of keys and values.
class FusedDecoder {
 public:
  explicit FusedDecoder(const FusedDecoderOptions& options) : options_(options) {}

  Model model() {
    add_inputs();
    add_lengths();
    builder_.weight(noise({tokens, width}, "words", 1))
        .node("Gather", {"words", "input_ids"}, {"embedded"})
        .weight(ones("norm"))
        .node("SimplifiedLayerNormalization", {"embedded", "norm"}, {"read_0"});
    std::string read = "read_0";
    residual_ = "embedded";
    for (int layer = 0; layer < layers; ++layer) read = add_layer(layer, read);
    product(read, "head", width, tokens, "logits");
    vernier_onnx::ModelProto proto = builder_.proto();
    auto& fused = *proto.add_opset_import();
    fused.set_domain("com.microsoft");
    fused.set_version(1);
    return Model(std::move(proto), {}, "built.onnx");
  }

 private:
  static constexpr std::int64_t tokens = 64, width = 32, inner = 64, size = 16, places = 64;
  static constexpr int layers = 2;

  static Tensor noise(const Shape& shape, const std::string& name, int seed) {
    Tensor tensor = make_tensor(name, DType::f32, shape);
    std::uint32_t state = 777U + 1000U * static_cast<std::uint32_t>(seed);
    for (float& value : elements<float>(tensor)) {
      state = state * 1664525U + 1013904223U;
      value = 0.5F * (static_cast<float>(state >> 8) / 8388608.0F - 1.0F);
    }
    return tensor;
  }

  static Tensor ones(const std::string& name) {
    return tensor_of<float>(name, DType::f32, {width}, std::vector<float>(width, 1.0F));
  }

  void add_inputs() {
    builder_.input("input_ids", DType::i64, {{-1, "n"}, {-1, "s"}})
        .output("logits", DType::f32, {{-1, "n"}, {-1, "s"}, {tokens, ""}});
    if (options_.masked)
      builder_.input("attention_mask", DType::i64, {{-1, "n"}, {-1, "t"}});
    else
      builder_.input("lengths", DType::i32, {{-1, "n"}}).input("total", DType::i32, {});
    for (int layer = 0; layer < layers; ++layer)
      for (const std::string kind : {".key", ".value"}) {
        const std::string name = std::to_string(layer) + kind;
        builder_.input("past." + name, DType::f32, {{-1, "n"}, {1, ""}, {-1, "p"}, {size, ""}})
            .output("present." + name, DType::f32, {{-1, "n"}, {1, ""}, {-1, "t"}, {size, ""}});
      }
  }

  void add_lengths() {
    if (options_.masked)
      builder_.weight(tensor_of<std::int64_t>("one", DType::i64, {}, {1}))
          .weight(tensor_of<std::int64_t>("first", DType::i64, {1}, {1}))
          .node("ReduceSum", {"attention_mask", "first"}, {"shown"}, {int_attribute("keepdims", 0)})
          .node("Sub", {"shown", "one"}, {"before"})
          .node("Cast", {"before"}, {"lengths"}, {int_attribute("to", 6)})
          .node("Shape", {"attention_mask"}, {"dims"})
          .node("Gather", {"dims", "one"}, {"long_total"})
          .node("Cast", {"long_total"}, {"total"}, {int_attribute("to", 6)});
    Tensor cosines = make_tensor("cosines", DType::f32, {places, size / 2});
    Tensor sines = make_tensor("sines", DType::f32, {places, size / 2});
    for (std::int64_t i = 0; i < places * size / 2; ++i) {
      const auto place = static_cast<double>(i / (size / 2));
      const double angle = place / std::pow(10.0, static_cast<double>(i % (size / 2)) / 2);
      elements<float>(cosines)[i] = static_cast<float>(std::cos(angle));
      elements<float>(sines)[i] = static_cast<float>(std::sin(angle));
    }
    builder_.weight(cosines).weight(sines);
  }

  // Weights of 4 bits are those of the float model, rounded to nearest.
  std::string product(const std::string& read, const std::string& name, std::int64_t rows,
                      std::int64_t columns, const std::string& output) {
    const Tensor weight = noise({rows, columns}, name, ++seed_);
    if (!options_.four_bits) {
      builder_.weight(weight).node("MatMul", {read, name}, {output});
      return output;
    }
    const std::int64_t blocks = rows / 32;
    Tensor packed = make_tensor(name + "_Q4", DType::u8, {columns, blocks, 16});
    Tensor scales = make_tensor(name + "_scales", DType::f32, {columns * blocks});
    for (std::int64_t block = 0; block < columns * blocks; ++block) {
      const auto at = [&](std::int64_t i) {
        return elements<float>(weight)[((block % blocks) * 32 + i) * columns + block / blocks];
      };
      float most = 1e-9F;
      for (int i = 0; i < 32; ++i) most = std::max(most, std::abs(at(i)));
      elements<float>(scales)[block] = most / 7;
      for (int i = 0; i < 32; ++i) {
        const auto stored = static_cast<std::uint8_t>(std::lround(at(i) / most * 7) + 8);
        elements<std::uint8_t>(packed)[block * 16 + i / 2] |=
            static_cast<std::uint8_t>(stored << (i % 2 * 4));
      }
    }
    builder_.weight(packed).weight(scales).node(
        "MatMulNBits", {read, name + "_Q4", name + "_scales"}, {output},
        {int_attribute("K", rows), int_attribute("N", columns), int_attribute("bits", 4),
         int_attribute("block_size", 32)},
        "com.microsoft");
    return output;
  }

  // What is read behind the sum of the residual and what a layer adds to it.
  std::string add(const std::string& addend, const std::string& name) {
    builder_.weight(ones("weight_" + name))
        .node("SkipSimplifiedLayerNormalization", {residual_, addend, "weight_" + name},
              {"read_" + name, "", "", "sum_" + name}, {}, "com.microsoft");
    residual_ = "sum_" + name;
    return "read_" + name;
  }

  std::string add_layer(int layer, const std::string& read) {
    const std::string n = std::to_string(layer);
    product(read, "q" + n, width, width, "queries_" + n);
    product(read, "k" + n, width, size, "keys_" + n);
    product(read, "v" + n, width, size, "values_" + n);
    builder_.node("GroupQueryAttention",
                  {"queries_" + n, "keys_" + n, "values_" + n, "past." + n + ".key",
                   "past." + n + ".value", "lengths", "total", "cosines", "sines"},
                  {"seen_" + n, "present." + n + ".key", "present." + n + ".value"},
                  {int_attribute("num_heads", 2), int_attribute("kv_num_heads", 1),
                   int_attribute("do_rotary", options_.rotary ? 1 : 0)},
                  "com.microsoft");
    product("seen_" + n, "o" + n, width, width, "attended_" + n);
    const std::string next = add("attended_" + n, n + "_mlp");
    product(next, "gate" + n, width, inner, "gates_" + n);
    product(next, "up" + n, width, inner, "ups_" + n);
    builder_.node("Sigmoid", {"gates_" + n}, {"open_" + n})
        .node("Mul", {"gates_" + n, "open_" + n}, {"activated_" + n})
        .node("Mul", {"activated_" + n, "ups_" + n}, {"inner_" + n});
    product("inner_" + n, "down" + n, inner, width, "fed_" + n);
    return add("fed_" + n, std::to_string(layer + 1));
  }

  FusedDecoderOptions options_;
  GraphBuilder builder_;
  std::string residual_;
  int seed_ = 10;
};

inline Model fused_decoder(const FusedDecoderOptions& options = {}) {
  return FusedDecoder(options).model();
}

}  // namespace vernier
