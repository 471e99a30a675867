#pragma once

#include <functional>
#include <memory>

#include "vernier/analysis/quantize/equalize.h"
#include "vernier/analysis/quantize/quantize.h"
#include "vernier/warning.h"

namespace vernier {

// A float model that is ready for quantizers.
struct PreparedModel {
  Model model;
  std::int64_t nodes_before = 0, nodes_after = 0;
  std::int64_t batch_norms = 0;  // folded into the operators before them
};

// The stages of quantizing a model, in order; each uses the results of those before it.
class Quantizing {
 public:
  // Prepares the model and places quantizers. Throws Error as quantize() does.
  Quantizing(const Model& model, Samples* samples, const QuantizeOptions& options);

  void calibrate();  // sets minmax ranges, or the given ones
  void search();     // keeps other choices that are proven to help
  // Computes ranges again by the chosen rules, from calibration and choosing samples together,
  // since more samples show more of a tensor's values. Reverted if the score on the choosing
  // samples gets worse, for instance because biases were corrected for the old ranges.
  void calibrate_again();
  // Keeps these nodes in float, besides those that already are.
  void keep_in_float(std::vector<std::string> nodes);
  void set_choices(QuantizationChoices choices) { choices_ = std::move(choices); }
  QuantizeResult finish();

  // The model that quantizers are inserted into: prepared, with channels scaled if that helped.
  const ModelIndex& float_model() const { return *index_; }
  // The model that outputs are compared with: prepared, channels not scaled.
  const Model& reference() const { return unscaled_ ? *unscaled_ : prepared_.model; }
  // The plan with these nodes in float, besides those that already are.
  PlacementPlan plan_keeping(std::vector<std::string> nodes) const;
  // Writes the quantized model of a plan. A tensor whose root is no longer in the plan keeps the
  // root's range.
  Model write(const PlacementPlan& plan, QuantizationChoices choices) const;
  const PlacementPlan& plan() const { return plan_; }
  const QuantizationChoices& choices() const { return choices_; }
  const SampleParts& parts() const { return parts_; }
  // Nodes that search() keeps in float.
  const std::vector<std::string>& kept() const { return kept_; }
  SampleRuns runs(std::vector<std::int64_t> indices);
  // Scores on the choosing samples.
  const OutputScorer& chooser();
  bool go_on() const { return go_on_; }
  void report(std::int64_t done);  // progress, in calibration samples

 private:
  bool scales_channels() const;  // whether cross-layer equalisation is tried
  void equalize_channels();
  void search_choices_by_score();
  void search_blocks();
  void keep_in_8_bits();
  void keep_noisiest_in_float();
  const OutputScore& score();  // of plan_ and choices_, on the choosing samples
  std::vector<std::string> noisiest_nodes();
  void forget_unplaced();
  HeldBackResult judge_held_back(const Model& quantized);
  // Why the deployed model is worse than the exact one; nullopt if it is not noticeably worse.
  std::optional<ArithmeticLoss> explain_deployment(const Model& quantized);
  Verdict verdict_of(const QuantizeResult& result) const;

  const QuantizeOptions& options_;
  PreparedModel prepared_;
  std::optional<ModelIndex> index_;  // of the prepared model
  std::optional<Model> unscaled_;
  std::vector<std::string> kept_;             // nodes kept in float by Effort::tune
  std::map<std::string, std::string> roots_;  // root names by tensor, in the first plan
  std::optional<SharedSamples> shared_;
  PlacementPlan plan_;
  SampleParts parts_;
  CalibrationValues values_;
  QuantizationChoices choices_;
  // Over the calibration samples; null if channels are not to be scaled.
  std::unique_ptr<ChannelExtremes> extremes_;
  std::optional<CalibrationValues> choosing_values_;  // on the choosing samples
  std::optional<OutputScorer> chooser_;
  std::optional<OutputScore> score_;  // of choices_ and plan_; nullopt if not measured
  std::vector<Decision> decisions_;
  std::vector<Warning> warnings_;
  bool go_on_ = true;
};

}  // namespace vernier
