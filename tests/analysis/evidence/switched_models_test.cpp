#include "vernier/analysis/evidence/switched_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/fixture.h"
#include "tests/model_builder.h"
#include "tests/shared_data.h"
#include "vernier/analysis/inputs/inputs.h"
#include "vernier/data/npz_batches.h"
#include "vernier/metrics/kernels.h"
#include "vernier/metrics/similarity.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/runtime/switchboard.h"

namespace vernier {
namespace {

// ONNX Runtime packs constant weights of a matrix product beforehand, and multiplies a single row
// by packed ones in another order than by those behind a switch.
constexpr double rounding_only_db = 120;

// A quantized model, its float model, and both with switches.
struct Pair {
  Pair(const std::filesystem::path& float_path, const std::filesystem::path& quantized_path)
      : float_model(Model::load(float_path)),
        quantized(Model::load(quantized_path)),
        float_index(float_model),
        quantized_index(quantized),
        quantization(find_quantization(quantized_index)),
        board(switch_quantizers(float_index, quantized_index, quantization),
              {.exact = true, .threads = 1}) {}

  std::vector<Tensor> plain(const Model& model, const std::vector<Tensor>& sample) const {
    OrtRunner runner(model.clone(),
                     {.optimization = Optimization::disabled, .exact = true, .threads = 1});
    return runner.run(sample);
  }

  Model float_model, quantized;
  ModelIndex float_index, quantized_index;
  Quantization quantization;
  Switchboard board;
};

std::vector<Tensor> mnist_sample(const Model& model) {
  return npz_batches(fixture("mnist/mnist_inputs.npz"), model.inputs()).samples->sample(3);
}

TEST(SwitchedModels, all_as_in_the_file_is_the_model_and_all_off_the_float_model) {
  for (const auto& [real, stored] : {std::pair{"mnist_cnn.float.onnx", "mnist_cnn.int8.onnx"},
                                     {"mnist_cnn.float.onnx", "mnist_cnn.int8_per_channel.onnx"},
                                     {"mnist_vit.float.onnx", "mnist_vit.int8.onnx"}}) {
    Pair pair(fixture(std::string("mnist/") + real), fixture(std::string("mnist/") + stored));
    const std::vector<Tensor> sample = mnist_sample(pair.quantized);
    EXPECT_EQ(pair.board.run(sample, pair.board.all(SwitchSetting::as_in_file())),
              pair.plain(pair.quantized, sample))
        << stored;
    const std::vector<Tensor> off = pair.board.run(sample, pair.board.all(SwitchSetting::off()));
    const std::vector<Tensor> expected = pair.plain(pair.float_model, sample);
    EXPECT_GE(sqnr_db(measure_noise(expected[0], off[0])), rounding_only_db) << stored;
  }
}

// The simulated quantizers are those of the file, but for biases: int32 is not simulated.
TEST(SwitchedModels, simulating_the_files_own_quantizers_changes_nothing) {
  Pair pair(fixture("mnist/mnist_cnn.float.onnx"), fixture("mnist/mnist_cnn.int8.onnx"));
  const std::vector<Tensor> sample = mnist_sample(pair.quantized);
  SwitchSettings settings = pair.board.all(SwitchSetting::as_in_file());
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const Switch& each = pair.board.switches()[i];
    if (each.kind == Switch::Kind::activation)
      settings[i] = SwitchSetting::simulate(simulated(*each.in_file));
  }
  EXPECT_EQ(pair.board.run(sample, settings), pair.plain(pair.quantized, sample));
}

// An optimiser folded what the float model gathers from a table.
TEST(SwitchedModels, a_constant_that_the_float_model_computes_is_its_counterpart) {
  GraphBuilder real, stored;
  Tensor table = make_tensor("table", DType::f32, {8, 8}),
         codes = make_tensor("folded_quantized", DType::i8, {4, 8});
  for (int i = 0; i < 64; ++i) elements<float>(table)[i] = 0.0101F * static_cast<float>(i - 32);
  for (int i = 0; i < 32; ++i)
    elements<std::int8_t>(codes)[i] = static_cast<std::int8_t>(
        std::lround(elements<float>(table)[(i / 8 * 2) * 8 + i % 8] / 0.01F));
  const std::vector<Dim> dims = {{4, ""}, {8, ""}};
  real.input("x", DType::f32, dims).output("y").weight(table);
  real.weight(tensor_of<std::int64_t>("rows", DType::i64, {4}, {0, 2, 4, 6}))
      .node("Gather", {"table", "rows"}, {"folded"})
      .node("Add", {"x", "folded"}, {"y"});
  stored.input("x", DType::f32, dims).output("y").weight(codes);
  stored.weight(tensor_of<float>("scale", DType::f32, {}, {0.01F}))
      .node("DequantizeLinear", {"folded_quantized", "scale"}, {"folded_real"})
      .node("Add", {"x", "folded_real"}, {"y"});
  const Model float_model = real.model(), quantized = stored.model();
  const ModelIndex float_index(float_model), quantized_index(quantized);
  const SwitchedModel switched =
      switch_quantizers({.model = &float_index}, quantized_index, WeightEvidence());
  EXPECT_EQ(switched.unswitched.size(), 0U);
}

// Models of other people, of every style, where the folder beside the repository has them: the
// file's own kernels run where all is as in the file, so that is the model bit for bit. With all
// off, a bias is added by a node of its own in dynamic models, and not inside the convolution.
TEST(SwitchedModels, every_style_is_the_model_as_in_the_file_and_the_float_model_off) {
  if (!std::filesystem::exists(shared_data("wild"))) GTEST_SKIP() << "no models beside";
  struct Style {
    const char *real, *stored;
    std::size_t fewest_switches;
  };
  const Style styles[] = {
      {"wild/cifar/resnet_fp32.onnx", "wild/cifar/resnet_int8_static.onnx", 138},
      {"wild/cifar/resnet_fp32.onnx", "wild/cifar/resnet_int8_dynamic.onnx", 74},
      {"wild/cifar/tinycnn.onnx", "wild/cifar/tinycnn_int8_qoperator.onnx", 30},
      {"wild/steel/v1_fp32.onnx", "wild/steel/v1_int8_qdq.onnx", 13},
      {"wild/steel/v2_fp32.onnx", "wild/steel/v2_int8_qoperator.onnx", 7},
      {"wild/credit/credit.onnx", "wild/credit/credit_int8.onnx", 8},
      {"lm/model.onnx", "lm/model.int8.onnx", 46},
      {"lm/model.onnx", "lm/model.int4.onnx", 29},
  };
  for (const Style& style : styles) {
    SCOPED_TRACE(style.stored);
    Pair pair(shared_data(style.real), shared_data(style.stored));
    EXPECT_GE(pair.board.switches().size(), style.fewest_switches);
    InputSpec spec{.samples = 1};
    if (std::string(style.real).starts_with("lm"))
      for (const TensorSpec& input : pair.quantized.inputs())
        spec.shapes[input.name] = input.shape.size() == 2 ? Shape{1, 8} : Shape{1, 2, 0, 32};
    const std::vector<Tensor> sample = make_inputs(pair.quantized, spec).samples->sample(0);
    EXPECT_EQ(pair.board.run(sample, pair.board.all(SwitchSetting::as_in_file())),
              pair.plain(pair.quantized, sample));
    const std::vector<Tensor> off = pair.board.run(sample, pair.board.all(SwitchSetting::off()));
    const std::vector<Tensor> expected = pair.plain(pair.float_model, sample);
    for (std::size_t i = 0; i < off.size(); ++i)
      EXPECT_GE(sqnr_db(measure_noise(expected[i], off[i])), rounding_only_db) << off[i].name;
  }
}

}  // namespace
}  // namespace vernier
