#include "vernier/analysis/compare/stages.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "vernier/analysis/compare/compare.h"
#include "vernier/model/precision.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {
namespace {

CompareResult compare_first(Runner& reference, Runner& candidate, Samples& samples,
                            const IoMapping& io) {
  CompareOptions options{.io = io};
  options.outputs_by_position = reference.outputs_are_positional();
  return compare(reference, candidate, samples, options);
}

double sqnr_of(const PairResult& pair) {
  return pair.similarity.statistics[*find_metric("sqnr_db")].mean;
}

double worst_sqnr_db(const CompareResult& result) {
  double worst = INFINITY;
  for (const PairResult& pair : result.outputs)
    if (pair.status == PairStatus::compared) worst = std::fmin(worst, sqnr_of(pair));
  return worst;
}

// A change with an SQNR below this has another cause than the order of additions. nullopt for int8:
// one flipped rounding changes an output by any amount; what counts is whether it is worse.
std::optional<double> rounding_db(Precision precision) {
  switch (precision) {
    case Precision::fp32: return 80;
    case Precision::fp16: return 40;
    case Precision::int8: return std::nullopt;
  }
  return std::nullopt;
}

// The optimisers that change arithmetic, by ONNX Runtime's names.
const std::vector<std::string>& optimizers() {
  static const std::vector<std::string> names = {"ConstantFolding",
                                                 "ConvBNFusion",
                                                 "ConvMulFusion",
                                                 "ConvAddFusion",
                                                 "MatMulAddFusion",
                                                 "MatMul_BatchNormalization_Fusion",
                                                 "GemmSumFusion",
                                                 "GemmTransposeFusion",
                                                 "MatmulTransposeFusion",
                                                 "MatMulScaleFusion",
                                                 "DivMulFusion",
                                                 "ReshapeFusion",
                                                 "GeluFusionL1",
                                                 "GeluFusionL2",
                                                 "LayerNormFusionL1",
                                                 "LayerNormFusionL2",
                                                 "SimplifiedLayerNormFusion",
                                                 "SkipLayerNormFusion",
                                                 "BiasSkipLayerNormFusion",
                                                 "EmbedLayerNormFusion",
                                                 "AttentionFusion",
                                                 "FastGeluFusion",
                                                 "QuickGeluFusion",
                                                 "BiasGeluFusion",
                                                 "BiasSoftmaxFusion",
                                                 "GeluApproximation",
                                                 "ConvActivationFusion",
                                                 "GemmActivationFusion",
                                                 "MatMulActivationFusion",
                                                 "QDQPropagationTransformer",
                                                 "QDQS8ToU8Transformer",
                                                 "QDQSelectorActionTransformer",
                                                 "QDQFinalCleanupTransformer",
                                                 "DoubleQDQPairsRemover",
                                                 "DynamicQuantizeMatMulFusion",
                                                 "MatMulIntegerToFloatFusion",
                                                 "ClipQuantRewrite",
                                                 "ReluQuantRewrite",
                                                 "NchwcTransformer",
                                                 "NhwcTransformer",
                                                 "TransposeOptimizer",
                                                 "CommonSubexpressionElimination"};
  return names;
}

// A runner that runs each sample once, and returns the stored outputs from then on.
class CachingRunner : public Runner {
 public:
  explicit CachingRunner(Runner& runner) : runner_(&runner) {}
  CachingRunner(Model model, const OrtOptions& options)
      : own_(std::make_unique<OrtRunner>(std::move(model), options)), runner_(own_.get()) {}

  const std::vector<TensorSpec>& inputs() const override { return runner_->inputs(); }
  const std::vector<TensorSpec>& outputs() const override { return runner_->outputs(); }
  bool outputs_are_positional() const override { return runner_->outputs_are_positional(); }
  void seek(std::int64_t sample) override {
    sample_ = sample;
    runner_->seek(sample);
  }
  std::vector<Tensor> run(std::span<const Tensor> inputs, const Observer&) override {
    const auto known = std::ranges::find_if(runs_, [&](const Run& run) {
      return run.sample == sample_ && std::ranges::equal(run.inputs, inputs);
    });
    if (known != runs_.end()) return known->outputs;
    runs_.push_back({sample_, {inputs.begin(), inputs.end()}, runner_->run(inputs)});
    return runs_.back().outputs;
  }

 private:
  struct Run {
    std::int64_t sample = -1;
    std::vector<Tensor> inputs, outputs;
  };
  std::unique_ptr<OrtRunner> own_;
  Runner* runner_;
  std::int64_t sample_ = -1;
  std::vector<Run> runs_;
};

class Stages {
 public:
  Stages(Runner& reference, const Model& model, const OrtOptions& runtime, Samples& samples,
         const IoMapping& io)
      : reference_(reference), model_(model), runtime_(runtime), samples_(samples), io_(io) {}

  std::vector<RuntimeStage> run() {
    OrtOptions exact = at(Optimization::disabled);  // `exact` alone optimises a float model
    exact.exact = true;
    add("exact", exact);
    add("off", at(Optimization::disabled));
    add("basic", at(Optimization::basic));
    add("extended", at(Optimization::extended));
    add("all", at(Optimization::all));
    if (!is_cpu(runtime_.provider)) add(runtime_.provider, runtime_);
    return std::move(stages_);
  }

 private:
  OrtOptions at(Optimization level) const {
    return {.optimization = level, .threads = runtime_.threads};
  }

  // Compares the stage with the reference and the previous stage; the first stage is never moved.
  RuntimeStage measure(const std::string& name, Runner& runner) {
    RuntimeStage stage{.name = name,
                       .sqnr_db = worst_sqnr_db(compare_first(reference_, runner, samples_, io_)),
                       .change_db = INFINITY};
    if (!before_) return stage;
    stage.change_db = worst_sqnr_db(compare_first(*before_, runner, samples_, same_model()));
    const double lost = std::fabs(stages_.back().sqnr_db - stage.sqnr_db);
    const auto rounding = rounding_db(precision_of(model_));
    stage.is_moved =
        rounding ? stage.change_db < *rounding : stage.change_db < INFINITY && lost > noticeable_db;
    return stage;
  }

  // The mapping between two runs of the candidate: both have the candidate's names.
  IoMapping same_model() const {
    IoMapping io{.constants = io_.constants, .feedback = io_.feedback, .steps = io_.steps};
    const std::vector<std::string> inputs = names_of(model_.inputs());
    const auto is_other = [&](const std::string& input) {
      return std::ranges::find(inputs, input) == inputs.end();
    };
    std::erase_if(io.constants, [&](const auto& constant) { return is_other(constant.first); });
    std::erase_if(io.feedback, [&](const Feedback& state) { return is_other(state.input); });
    return io;
  }

  void add(const std::string& name, const OrtOptions& options) {
    auto runner = std::make_unique<CachingRunner>(model_.clone(), options);
    RuntimeStage stage = measure(name, *runner);
    const bool first = std::ranges::none_of(stages_, &RuntimeStage::is_moved);
    if (stage.is_moved && first && is_cpu(options.provider)) stage.optimizers = moving(options);
    stages_.push_back(std::move(stage));
    before_ = std::move(runner);
  }

  bool is_moved_without(OrtOptions options, std::vector<std::string> disabled) {
    options.disabled_optimizers = std::move(disabled);
    CachingRunner runner(model_.clone(), options);
    return measure("", runner).is_moved;
  }

  // A minimal set of optimisers whose removal keeps the output: all are disabled at first, then
  // halves and smaller groups are enabled again as long as the output does not move. Empty if the
  // output moves even with all known optimisers disabled.
  std::vector<std::string> moving(const OrtOptions& options) {
    std::vector<std::string> disabled = optimizers();
    if (is_moved_without(options, disabled)) return {};
    for (std::ptrdiff_t length = std::ssize(disabled) / 2; length > 0; length /= 2)
      for (std::ptrdiff_t at = 0; at < std::ssize(disabled);) {
        std::vector<std::string> rest = disabled;
        rest.erase(rest.begin() + at, rest.begin() + std::min(at + length, std::ssize(rest)));
        if (rest.empty() || is_moved_without(options, rest))
          at += length;
        else
          disabled = std::move(rest);
      }
    return disabled;
  }

  CachingRunner reference_;
  const Model& model_;
  const OrtOptions& runtime_;
  Samples& samples_;
  const IoMapping& io_;
  std::unique_ptr<CachingRunner> before_;
  std::vector<RuntimeStage> stages_;
};

}  // namespace

std::vector<RuntimeStage> run_stages(Runner& reference, const Model& model,
                                     const OrtOptions& runtime, Samples& samples,
                                     const IoMapping& io) {
  constexpr std::int64_t most_samples = 4;
  const auto first = first_samples(samples, most_samples * io.steps);
  return Stages(reference, model, runtime, *first, io).run();
}

}  // namespace vernier
