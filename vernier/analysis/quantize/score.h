#pragma once

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
  std::optional<double> agreement;  // share of rows whose argmax is the reference's, 0 to 1
  std::optional<double> accuracy;   // percent of labels that are predicted; nullopt without labels
  std::int64_t nonfinite = 0;       // samples with NaN or infinity in the candidate only
  double sqnr_db() const;           // inf for no noise, NaN for no samples
  double kl_mean() const { return noise.kl_mean(); }
};

struct Gain {
  double db = 0;  // of the second score over the first
  ConfidenceInterval interval;
  bool proven() const { return interval.low > 0; }
  bool operator==(const Gain&) const = default;
};
// The gain of `after` over `before` on the samples that both scores cover: the first ones, if one
// covers fewer. For decoders it is the gain in KL, otherwise in noise.
Gain gain(const OutputScore& before, const OutputScore& after);

enum class Arithmetic {
  exact,    // as the file defines it
  deployed  // with ONNX Runtime's optimisations, on this CPU
};

// Runs models on a fixed set of samples and compares their outputs with the float model's.
class OutputScorer {
 public:
  // `outputs` are the reference's outputs for each sample; it is run if they are empty. Throws
  // Error if no output holds floats.
  OutputScorer(const Model& reference, SampleRuns runs,
               std::vector<std::vector<Tensor>> outputs = {});

  OutputScore score(const Model& candidate, Arithmetic arithmetic = Arithmetic::exact) const;
  // Stops after the first third of the samples (at least 16) if `best` is no worse on them.
  OutputScore score_promising(const Model& candidate, const OutputScore& best) const;
  // Scores the first samples only.
  OutputScore score_first(const Model& candidate, std::int64_t samples) const;
  // The differences of the compared outputs from the reference's on the first samples; each output
  // is divided by the root of its signal.
  std::vector<float> errors(const Model& candidate, std::int64_t samples) const;
  std::int64_t samples() const { return static_cast<std::int64_t>(runs_.indices.size()); }
  std::optional<double> reference_accuracy() const { return reference_accuracy_; }
  bool scores_tokens() const { return logits_.has_value(); }

 private:
  OutputScore score(const Model& candidate, Arithmetic arithmetic, std::int64_t samples,
                    const OutputScore* best = nullptr) const;
  void measure_signal();
  // The key under which a sample's measurement is recorded.
  std::string section(std::string_view measured, const Model& candidate) const;

  SampleRuns runs_;
  std::string against_;  // hash of reference and sample indices; empty if nothing is recorded
  std::vector<std::vector<Tensor>> outputs_;  // the reference's, for each sample
  std::vector<std::size_t> compared_;         // indices of float outputs that are not all 0
  std::vector<std::string> names_;            // of the compared outputs
  std::vector<std::vector<double>> signal_;   // sum of squares, by sample and compared output
  std::size_t answers_ = 0;                   // index of the output whose argmax is the prediction
  std::optional<std::size_t> logits_;  // index of a decoder's logits; nullopt if not a decoder
  std::vector<Tensor> labels_;         // for each sample; empty without labels
  std::optional<double> reference_accuracy_;
};

}  // namespace vernier
