#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/analysis/output_noise.h"
#include "vernier/analysis/quantize/calibrate.h"

namespace vernier {

// The error at a model's outputs.
struct OutputScore {
  OutputNoise noise;
  std::optional<double> agreement;  // share of rows whose first maximum stays, 0 to 1
  std::optional<double> accuracy;   // of the labels, in percent; nothing without them
  std::int64_t nonfinite = 0;       // samples with NaN or infinity in the candidate alone
  double sqnr_db() const;           // inf for no noise, NaN for no samples
  double kl_mean() const { return noise.kl_mean(); }
};

struct Gain {
  double db = 0;  // of the second over the first
  ConfidenceInterval interval;
  bool proven() const { return interval.low > 0; }
  bool operator==(const Gain&) const = default;
};
// On the samples that both scores are of: the first ones, where one has fewer. Of decoders the gain
// is that of KL.
Gain gain(const OutputScore& before, const OutputScore& after);

enum class Arithmetic {
  exact,    // as the file says
  deployed  // with ONNX Runtime's optimisations, on this CPU
};

// Runs models on held-back samples and compares their outputs with those of the float model, which
// it keeps.
class OutputScorer {
 public:
  // Throws Error where no output is of floats. `outputs` are the reference's, of each sample, where
  // they are known.
  OutputScorer(const Model& reference, SampleRuns runs,
               std::vector<std::vector<Tensor>> outputs = {});

  OutputScore score(const Model& candidate, Arithmetic arithmetic = Arithmetic::exact) const;
  // The same, but of the first third of the samples where that is not better than `best`.
  OutputScore score_promising(const Model& candidate, const OutputScore& best) const;
  // On the first samples only.
  OutputScore score_first(const Model& candidate, std::int64_t samples) const;
  // The differences of the compared outputs from the reference's on the first samples, each output
  // over the root of its signal.
  std::vector<float> errors(const Model& candidate, std::int64_t samples) const;
  std::int64_t samples() const { return static_cast<std::int64_t>(runs_.indices.size()); }
  std::optional<double> reference_accuracy() const { return reference_accuracy_; }
  bool scores_tokens() const { return logits_.has_value(); }

 private:
  OutputScore score(const Model& candidate, Arithmetic arithmetic, std::int64_t samples,
                    const OutputScore* best = nullptr) const;
  void measure_signal();
  // What a sample's part of a measurement is recorded under.
  std::string section(std::string_view measured, const Model& candidate) const;

  SampleRuns runs_;
  std::string against_;  // that reference, on these samples; empty where nothing is recorded
  std::vector<std::vector<Tensor>> outputs_;  // of each sample
  std::vector<std::size_t> compared_;         // outputs of floats, not all of them 0
  std::vector<std::string> names_;            // of these
  std::vector<std::vector<double>> signal_;   // of each sample, squares of each compared output
  std::size_t answers_ = 0;                   // the output whose maximum is the answer
  std::optional<std::size_t> logits_;         // the output of a decoder
  std::vector<Tensor> labels_;                // of each sample; none without labels
  std::optional<double> reference_accuracy_;
};

}  // namespace vernier
