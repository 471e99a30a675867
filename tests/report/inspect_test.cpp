#include "vernier/report/inspect.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "vernier/report/terminal.h"

namespace vernier {
namespace {

Inspection small_inspection() {
  Inspection inspection{.inputs = {{"ids", DType::i64, {{-1, "batch"}, {4, ""}, {-1, ""}}}},
                        .outputs = {{.name = "y", .dtype = DType::f16, .ranked = false}},
                        .other_outputs = {{"boxes", "sequence"}},
                        .weights = {{"float32", 3, 1000, 4000}, {"int64", 1, 1, 8}}};
  inspection.onnx =
      ModelSummary{.ir_version = 8,
                   .producer = "pytorch 2.1",
                   .opsets = {{"ai.onnx", 17}, {"unused", 1}},
                   .precision = "fp32",
                   .nodes = 6,
                   .operators = {{"ai.onnx", "Loop", 2}, {"org.x", "Fancy", 1}},
                   .weights = inspection.weights,
                   .external_files = {{"w.bin", 2, 3996}},
                   .subgraphs = {{"a.body", "Loop", 2, 1}, {"a.body/b.body", "Loop", 1, 2}},
                   .functions = {{"local", "Block", 3, 2}},
                   .index_lengths = {{"ids", 50}}};
  return inspection;
}

LiveTensors small_run() {
  const double nan = NAN;
  LiveTensors live{.inputs = "random uniform, seed 42", .sample = 3};
  live.tensors = {
      {"ids", "", DType::i64, {1, 4}, {.count = 4, .min = 0, .max = 49, .mean = 12.5}},
      {"log",
       "Log",
       DType::f32,
       {4},
       {.count = 4, .negative_inf = 1, .min = 0, .max = 1, .mean = 0.5}},
      {"y", "Sub", DType::f32, {4}, {.count = 4, .nan = 4, .min = nan, .max = nan, .mean = nan}}};
  live.first_inf = 1;
  live.first_nan = 2;
  live.unwatched = {{"k", "a constant: its value is in the model"}};
  return live;
}

TEST(InspectReport, the_text_shows_what_there_is) {
  EXPECT_EQ(render_terminal(describe_inspection("m.onnx", small_inspection(), small_run()), false),
            R"(  model          m.onnx
  format         onnx IR 8, ai.onnx 17
  producer       pytorch 2.1
  precision      fp32
  nodes          6
  weights        1001, 4.01 kB: 1000 float32 in 3 tensors, 1 int64 in 1 tensor
  external data  w.bin (4.00 kB in 2 tensors)
  run on         sample 3 (random uniform, seed 42)

          name   dtype     shape
  input   ids    int64     [batch,4,?]
  output  y      float16   ?
  output  boxes  sequence
  ids holds indices below 50

  operator     count
  Loop             2
  org.x.Fancy      1

  subgraph  of    nodes
  a.body    Loop      2
  1 inside these; JSON lists them

  function     nodes  calls
  local.Block      3      2

  tensor  operator  dtype    shape  min  max  mean
  ids               int64    [1,4]    0   49  12.5
  log     Log       float32  [4]      0    1   0.5  1 inf
  y       Sub       float32  [4]      -    -     -  4 nan
  not shown: 1 tensor

first NaN in 'y', written by Sub

first infinity in 'log', written by Log
)");
}

TEST(InspectReport, quantization_has_a_panel_of_its_own) {
  Inspection inspection{.onnx = ModelSummary{}};
  inspection.onnx->quantization = {.quantize = 3,
                                   .dequantize = 5,
                                   .activation_pairs = 3,
                                   .weights_per_channel = 2,
                                   .types = {{"int8", 5}},
                                   .integer_operators = {{"QLinearConv", 1}},
                                   .block_quantized = {{"MatMulNBits", 4, 32, 7}}};
  const std::string text = render_terminal(describe_inspection("m.onnx", inspection, {}), false);
  EXPECT_NE(text.find(R"(Quantization
  QuantizeLinear            3
  DequantizeLinear          5
  activations (Q-DQ pairs)  3
  weights                   2 per channel
  types                     5 int8
  integer operators         1 QLinearConv
  block-quantized           7 MatMulNBits of 4 bits in blocks of 32
)"),
            std::string::npos)
      << text;
}

TEST(InspectReport, sizes_that_no_file_could_have_do_not_overflow) {
  const Inspection inspection{
      .weights = {{"float32", 1, INT64_MAX, INT64_MAX}, {"int8", 1, INT64_MAX, INT64_MAX}}};
  const std::string text = render_terminal(describe_inspection("m.onnx", inspection, {}), false);
  EXPECT_NE(text.find("9223372036854775807, 9.22e+03 PB"), std::string::npos) << text;
}

TEST(InspectReport, json_keeps_what_text_leaves_out) {
  const auto json =
      nlohmann::json::parse(inspection_json("m.onnx", small_inspection(), small_run()));
  EXPECT_EQ(json["inputs"][0]["shape"], (nlohmann::json{"batch", 4, nullptr}));
  EXPECT_TRUE(json["outputs"][0]["shape"].is_null());
  EXPECT_EQ(json["outputs"][1]["type"], "sequence");
  EXPECT_EQ(json["onnx"]["opsets"].size(), 2u);
  EXPECT_EQ(json["onnx"]["subgraphs"][1]["depth"], 2);
  EXPECT_TRUE(json["onnx"]["quantization"].is_null());
  EXPECT_EQ(json["live"]["first_nan"]["tensor"], "y");
  EXPECT_EQ(json["live"]["first_inf"]["operator"], "Log");
  EXPECT_TRUE(json["live"]["tensors"][2]["mean"].is_null());
  EXPECT_TRUE(json["live"]["tensors"][0]["operator"].is_null());
  EXPECT_EQ(json["live"]["not_shown"][0]["name"], "k");
}

TEST(InspectReport, without_a_run_json_has_none) {
  const auto json = nlohmann::json::parse(inspection_json("m.onnx", small_inspection(), {}));
  EXPECT_FALSE(json.contains("live"));
  EXPECT_FALSE(json["versions"].contains("onnxruntime"));
}

}  // namespace
}  // namespace vernier
