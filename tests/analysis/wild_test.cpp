#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/injected_faults.h"
#include "tests/shared_data.h"
#include "vernier/analysis/compare/compare_models.h"
#include "vernier/analysis/inputs/inputs.h"
#include "vernier/analysis/inputs/pick_inputs.h"
#include "vernier/model/precision.h"
#include "vernier/report/verdict.h"
#include "vernier/tensor/npz.h"

// Models that other people trained, exported and quantized, as right pairs and with faults in them.
// Of the faults some are drawn, others for each pair; VERNIER_SWEEP=full takes all, which takes
// four minutes.

namespace vernier {
namespace {

constexpr std::int64_t count = 12;

class KeptSamples : public Samples {
 public:
  explicit KeptSamples(std::vector<Tensor> inputs) : inputs_(std::move(inputs)) {}
  std::int64_t size() const override { return std::ssize(inputs_); }
  std::vector<Tensor> sample(std::int64_t index) override { return {inputs_[index]}; }

 private:
  std::vector<Tensor> inputs_;
};

bool takes_all() {
  const char* sweep = std::getenv("VERNIER_SWEEP");
  return sweep && std::string_view(sweep) == "full";
}

using RealInputs = std::function<std::unique_ptr<Samples>(const Model&)>;

// The first images of the test set, normalised.
RealInputs cifar(std::array<float, 3> deviations) {
  return [deviations](const Model& model) {
    constexpr std::array<float, 3> means = {.4914F, .4822F, .4465F};
    const Tensor images = NpzReader(shared_data("wild/cifar/cifar10_test_512.npz")).read("image");
    const auto pixels = elements<std::uint8_t>(images.view());
    std::vector<Tensor> inputs;
    for (std::int64_t i = 0; i < count; ++i) {
      inputs.push_back(make_tensor(model.inputs()[0].name, DType::f32, {1, 3, 32, 32}));
      const auto values = elements<float>(inputs.back());
      for (std::size_t j = 0; j < values.size(); ++j)
        values[j] = (static_cast<float>(pixels[i * 3072 + j]) / 255 - means[j / 1024]) /
                    deviations[j / 1024];
    }
    return std::make_unique<KeptSamples>(std::move(inputs));
  };
}

std::unique_ptr<Samples> steel(const Model& model) {
  InputSpec spec{.samples = count};
  spec.dataset.name = shared_data("wild/steel/images").string();
  spec.dataset.shuffle = true;
  spec.dataset.preprocessing.image_size = Size{96, 96};
  spec.dataset.preprocessing.filter = Filter::bicubic;
  return make_inputs(model, spec).samples;
}

std::unique_ptr<Samples> digits(const Model& model) {
  InputSpec spec{.samples = count};
  spec.data = shared_data("mnist/mnist_inputs.npz");
  return make_inputs(model, spec).samples;
}

struct Pair {
  std::string reference, candidate;
  RealInputs real = {};                      // empty: there is no data for it
  std::map<std::string, Shape> shapes = {};  // of inputs with dynamic axes that cannot be 1
};

const std::vector<Pair> right_pairs = {
    {"wild/steel/v1_fp32.onnx", "wild/steel/v1_int8_qdq.onnx", steel},
    {"wild/steel/v2_fp32.onnx", "wild/steel/v2_int8_qoperator.onnx", steel},
    {"wild/cifar/resnet_fp32.onnx", "wild/cifar/resnet_int8_static.onnx",
     cifar({.2023F, .1994F, .2010F})},
    {"wild/cifar/resnet_fp32.onnx", "wild/cifar/resnet_int8_dynamic.onnx",
     cifar({.2023F, .1994F, .2010F})},
    {"wild/cifar/tinycnn.onnx", "wild/cifar/tinycnn_int8_qoperator.onnx",
     cifar({.2470F, .2435F, .2616F})},
    {"mnist/mnist_cnn.onnx", "mnist/mnist_cnn.int8.onnx", digits},
    {"mnist/mnist_cnn.onnx", "mnist/mnist_cnn.int8_per_channel.onnx", digits},
    {"mnist/mnist_vit.onnx", "mnist/mnist_vit.int8.onnx", digits},
    {"mnist/mnist_vit.onnx", "mnist/mnist_vit.int8_per_channel.onnx", digits},
    {"resnet_nhwc/fp32/model.onnx", "resnet_nhwc/w8a8/model.onnx"},
    {"silero/silero_vad.onnx", "silero/silero_vad_op18_ifless.onnx", {}, {{"input", {1, 576}}}},
    {"wild/credit/credit.onnx", "wild/credit/credit_int8.onnx"}};

CompareResult result_of(const Model& reference, const Model& candidate, const RealInputs& real,
                        const std::map<std::string, Shape>& shapes = {}) {
  CompareModelsOptions options;
  options.compare.limits = default_limits(precision_of(candidate));
  options.compare.evidence.real_inputs = bool(real);
  const ModelIndex expected(reference), found(candidate);
  const auto samples =
      real ? real(candidate)
           : std::move(automatic_inputs(found, &expected, {.shapes = shapes}, {}).samples);
  return compare_models({.reference = &expected, .candidate = found}, *samples, options);
}

Verdict verdict_of(const Model& reference, const Model& candidate, const RealInputs& real,
                   const std::map<std::string, Shape>& shapes = {}) {
  return result_of(reference, candidate, real, shapes).verdict;
}

class WildPairs : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(shared_data("wild")))
      GTEST_SKIP() << "no folder of models beside the repository";
  }
};

TEST_F(WildPairs, right_pairs_pass_on_real_data) {
  for (const Pair& pair : right_pairs) {
    if (!pair.real) continue;
    const Verdict verdict = verdict_of(Model::load(shared_data(pair.reference)),
                                       Model::load(shared_data(pair.candidate)), pair.real);
    EXPECT_TRUE(verdict.pass()) << pair.candidate << " " << verdict_paragraph(verdict).text.text;
  }
}

TEST_F(WildPairs, right_pairs_never_fail_without_data) {
  int inconclusive = 0;
  for (const Pair& pair : right_pairs) {
    const Verdict verdict = verdict_of(Model::load(shared_data(pair.reference)),
                                       Model::load(shared_data(pair.candidate)), {}, pair.shapes);
    EXPECT_NE(verdict.outcome, Outcome::fail)
        << pair.candidate << " " << verdict_paragraph(verdict).text.text;
    inconclusive += verdict.outcome == Outcome::inconclusive;
  }
  EXPECT_LE(inconclusive, 2);
}

TEST_F(WildPairs, no_fault_passes) {
  int injected = 0;
  for (std::size_t number = 0; const Pair& pair : right_pairs)
    for (const InjectedFault& fault : injected_faults()) {
      const bool is_drawn = number++ % 3 == 0 || takes_all();
      const Model reference = Model::load(shared_data(pair.reference));
      Model candidate = Model::load(shared_data(pair.candidate));
      if (!fault.inject(candidate)) continue;
      ++injected;
      const auto expect_detected = [&](const std::string& name, const Verdict& verdict) {
        EXPECT_FALSE(verdict.pass()) << name;
      };
      const std::string name = pair.candidate + " with " + fault.name;
      if (pair.real) expect_detected(name, verdict_of(reference, candidate, pair.real));
      if (is_drawn || !pair.real)
        expect_detected(name + ", without data", verdict_of(reference, candidate, {}, pair.shapes));
    }
  EXPECT_GE(injected, 40);
}

double exact_db(const CompareResult& result) {
  return result.exact_outputs.empty() ? 0 : result.exact_outputs[0].similarity.statistics[0].mean;
}

// Wherever a range is too narrow: inputs that were picked must not be picked by it.
TEST_F(WildPairs, no_narrow_range_passes) {
  constexpr std::size_t of_each = 8;
  std::size_t number = 0;
  int injected = 0;
  for (const Pair& pair : right_pairs) {
    const Model reference = Model::load(shared_data(pair.reference));
    const Model candidate = Model::load(shared_data(pair.candidate));
    const double right_db = pair.real ? exact_db(result_of(reference, candidate, pair.real)) : 0;
    const std::vector<QuantizedActivation> found =
        find_quantization(ModelIndex(candidate)).activations;
    for (std::size_t i = 0; i < std::min(found.size(), of_each); ++i) {
      if (number++ % 3 != 0 && !takes_all()) continue;
      const std::size_t last = std::min(found.size(), of_each) - 1;
      const QuantizedActivation& activation = found[last == 0 ? 0 : i * (found.size() - 1) / last];
      Model narrow = candidate.clone();
      if (!scale_constant(narrow, activation.quantizer.scale.name, 0.25F)) continue;
      ++injected;
      const std::string name = pair.candidate + ", " + activation.name;
      // A range passes that costs less on real data than a wider one has to gain.
      bool harmless = false;
      if (pair.real) {
        const CompareResult result = result_of(reference, narrow, pair.real);
        harmless = exact_db(result) > right_db - costly_db;
        EXPECT_TRUE(!result.verdict.pass() || harmless) << name << ", real";
      }
      EXPECT_TRUE(!verdict_of(reference, narrow, {}, pair.shapes).pass() || harmless) << name;
    }
  }
  EXPECT_GE(injected, takes_all() ? 60 : 20);
}

TEST_F(WildPairs, other_networks_and_stale_files_fail) {
  const auto outcome = [](const char* reference, const char* candidate) {
    return verdict_of(Model::load(shared_data(reference)), Model::load(shared_data(candidate)), {})
        .outcome;
  };
  EXPECT_EQ(outcome("wild/stale/exported.onnx", "wild/stale/shipped.onnx"), Outcome::fail);
  EXPECT_EQ(outcome("wild/face/rfb320.onnx", "wild/face/slim320.onnx"), Outcome::fail);
  EXPECT_EQ(outcome("wild/steel/v1_fp32.onnx", "wild/steel/v2_int8_qoperator.onnx"), Outcome::fail);
}

}  // namespace
}  // namespace vernier
