#pragma once

#include <optional>
#include <vector>

namespace vernier {

// What an input of a model is for, as far as the graph says.
enum class InputRole {
  values,     // numbers of which nothing more is known
  image,      // [n,c,h,w] or [n,h,w,c]
  audio,      // [n,t] or [n,1,t], a waveform
  ids,        // integers of a range: tokens, bytes, categories
  choices,    // one of a few numbers
  positions,  // 0, 1, 2... along the last axis
  mask,       // ones, and zeros at the end of a row
  condition,  // of an If: true and false in turn
  length,     // how long the other inputs are
  state,      // fed back from an output: zeros
};

// Both ends belong to it.
struct Interval {
  double low = 0;
  double high = 0;
  bool operator==(const Interval&) const = default;
};

struct InputKind {
  InputRole role = InputRole::values;
  bool channels_last = false;             // of an image
  std::optional<Interval> range;          // of ids, or of the quantizer that the input goes into
  std::vector<double> choices;            // of InputRole::choices
  std::vector<double> means, deviations;  // of values: one, or one for each feature; may be empty
  bool operator==(const InputKind&) const = default;
};

}  // namespace vernier
