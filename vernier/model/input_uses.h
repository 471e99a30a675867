#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "vernier/model/model.h"
#include "vernier/tensor/input_kind.h"

namespace vernier {

// The first operator with weights that an input reaches.
enum class FirstOperator { none, convolution_1d, convolution_2d, other };

// What a graph does with the elements of an input. Choices, ranges and flags are those of integers,
// unless they say otherwise.
struct InputUses {
  std::optional<std::int64_t> index_length;  // of the shortest axis that it indexes
  std::optional<Interval> range;             // of what it is compared with or encoded into
  std::set<double> choices;                  // that it is compared with; of any type: categories
  std::optional<Interval> quantized;         // of any type: the range of the quantizer behind it
  std::vector<double> means, deviations;     // of any type: what a Scaler says of its features
  bool mask = false;                         // read as true or false, or counted
  bool condition = false;                    // of an If
  bool length = false;                       // a size or a bound
  bool counted_to = false;                   // compared with what counts up to a size
  bool number = false;                       // cast to a float
  bool state = false;                        // of any type: where a recurrent operator begins
  std::set<std::string> moved_to;            // of any type: outputs that may hold its elements
  bool positions = false;                    // that a rotary embedding turns by
  bool last_position = false;                // of attention: the length of all keys, less one
  bool total_length = false;                 // of attention: the length of all keys
  FirstOperator first = FirstOperator::none;
};

// By input; an input that is not there has none of these uses. The graph is followed forward, also
// into subgraphs and local functions, through operators that only move elements.
std::map<std::string, InputUses> input_uses(const Model& model);

}  // namespace vernier
