#pragma once

#include <functional>
#include <memory>

#include "vernier/analysis/quantize/equalize.h"
#include "vernier/analysis/quantize/quantize.h"

namespace vernier {

// The stages of quantizing a model, one after the other; what one finds the next ones use.
class Quantizing {
 public:
  // Prepares the model and places quantizers. Throws Error as quantize() does.
  Quantizing(const Model& model, Samples* samples, const QuantizeOptions& options);

  void calibrate();  // minmax ranges, or those given
  void search();     // other choices, where they prove to help
  // Ranges by the rules that were chosen, of the samples that chose them too: few samples show less
  // of what a tensor holds. Kept unless even these samples are the worse for it, as where biases
  // were corrected for other ranges.
  void calibrate_again();
  // Keeps nodes in float, besides those that are already.
  void keep_in_float(std::vector<std::string> nodes);
  void change_choices(const std::function<void(QuantizationChoices&)>& change);
  QuantizeResult finish();

  // What quantizers are put into: prepared, its channels perhaps scaled.
  const Model& float_model() const { return prepared_.model; }
  // What outputs are compared with: before anything was scaled.
  const Model& reference() const { return unscaled_ ? *unscaled_ : prepared_.model; }
  // The plan with these nodes in float, besides those that are already.
  PlacementPlan plan_keeping(std::vector<std::string> nodes) const;
  // The quantized model of a plan. A tensor that shared its quantizer until a node was kept in
  // float has the range that was shared.
  Model write(const PlacementPlan& plan, QuantizationChoices choices) const;
  const PlacementPlan& plan() const { return plan_; }
  const QuantizationChoices& choices() const { return choices_; }
  const SampleParts& parts() const { return parts_; }
  // Nodes that the search keeps in float.
  const std::vector<std::string>& kept() const { return kept_; }
  SampleRuns runs(std::vector<std::int64_t> indices);
  // By the samples that choose.
  const OutputScorer& chooser();
  bool go_on() const { return go_on_; }
  void report(std::int64_t done);  // progress, in calibration samples

 private:
  bool scales_channels() const;  // where that helps
  void equalize_channels();
  void search_choices_by_score();
  void search_blocks();
  void keep_in_8_bits();
  void keep_noisiest_in_float();
  const OutputScore& score();  // of what is chosen, by the samples that choose
  std::vector<std::string> noisiest_nodes();
  void forget_unplaced();
  HeldBackResult judge_held_back(const QuantizeResult& result);
  // Why the model loses as it is deployed here.
  std::optional<ArithmeticLoss> explain_deployment(const QuantizeResult& result);
  Verdict verdict_of(const QuantizeResult& result) const;

  const QuantizeOptions& options_;
  PreparedModel prepared_;
  std::optional<Model> unscaled_;
  std::vector<std::string> kept_;             // in float, by --tune
  std::map<std::string, std::string> roots_;  // of the tensors that were placed first
  std::optional<SharedSamples> shared_;
  PlacementPlan plan_;
  SampleParts parts_;
  CalibrationValues values_;
  QuantizationChoices choices_;
  // Of the calibration samples; nothing: channels are not to be scaled.
  std::unique_ptr<ChannelExtremes> extremes_;
  std::optional<CalibrationValues> choosing_values_;  // of reference(), on samples that choose
  std::optional<OutputScorer> chooser_;
  std::optional<OutputScore> score_;  // of choices_ and plan_; nothing: not measured
  std::vector<Decision> decisions_;
  std::vector<std::string> warnings_;
  bool go_on_ = true;
};

}  // namespace vernier
