#pragma once

#include <optional>
#include <vector>

namespace vernier {

// The role of a model's input, as inferred from the graph.
enum class InputRole {
  values,     // numbers; nothing more is known
  image,      // [n,c,h,w] or [n,h,w,c]
  audio,      // a waveform, [n,t] or [n,1,t]
  ids,        // integers in a range: tokens, bytes, categories
  choices,    // one of a few numbers
  positions,  // 0, 1, 2... along the last axis
  mask,       // ones, with zeros at the end of a row
  condition,  // the condition of an If: true and false in turn
  length,     // the length of the other inputs
  state,      // fed back from an output; zeros at first
};

// A closed interval.
struct Interval {
  double low = 0;
  double high = 0;
  bool operator==(const Interval&) const = default;
};

struct InputKind {
  InputRole role = InputRole::values;
  bool channels_last = false;             // for images
  std::optional<Interval> range;          // of ids, or calibration range of the input's quantizer
  std::vector<double> choices;            // for InputRole::choices
  std::vector<double> means, deviations;  // for values: one, or one per feature; empty if unknown
  bool operator==(const InputKind&) const = default;
};

}  // namespace vernier
