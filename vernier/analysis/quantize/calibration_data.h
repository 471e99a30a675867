#pragma once

#include <optional>

#include "vernier/analysis/evidence/norm_fit.h"
#include "vernier/analysis/inputs/inputs.h"
#include "vernier/analysis/text/text_input.h"

namespace vernier {

// What a model is to be calibrated and measured on.
struct CalibrationInput {
  InputSpec spec{.default_samples = 256};
  TextInput text;
  IoMapping io;
  bool synthetic = false;  // only if no real data can be had
};

struct CalibrationData {
  Inputs inputs;               // `samples` is null if none were given
  bool synthetic = false;      // how good the model is on real inputs is then not known
  std::optional<NormFit> fit;  // of synthetic inputs; nullopt if the model has too few batch norms
};

// Makes the samples. A decoder is fed whole sequences, unless the file holds all of its inputs.
// Throws Error for synthetic inputs beside real ones, or where batch norms show that they are
// unlike those that the model was trained on.
CalibrationData calibration_data(const Model& model, const CalibrationInput& input);

}  // namespace vernier
