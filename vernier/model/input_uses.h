#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "vernier/model/model.h"
#include "vernier/tensor/input_kind.h"

namespace vernier {

// The first operator with a constant weight that an input reaches.
enum class FirstOperator { none, convolution_1d, convolution_2d, other };

// How a graph uses the elements of an input. Fields marked * are set for any dtype, the others only
// for integers and booleans.
struct InputUses {
  std::optional<std::int64_t> index_length;  // * length of the shortest axis that it indexes
  std::optional<Interval> range;             // of the numbers it is compared with, or of a OneHot
  std::set<double> choices;               // numbers it is compared with; * OneHotEncoder categories
  std::optional<Interval> quantized;      // * calibration range of the quantizer that reads it
  std::vector<double> means, deviations;  // * of its features, from a Scaler
  bool mask = false;                      // read as booleans, or summed
  bool truth = false;                     // compared with 0 or equal to 1, as "mask == 0" does
  bool condition = false;                 // the condition of an If
  bool length = false;                    // read as a size or a bound
  bool counted_to = false;                // compared with positions computed from a shape
  bool number = false;                    // cast to a float
  bool state = false;                     // * initial state of a recurrent operator
  std::set<std::string> moved_to;         // * model outputs that may hold its elements
  bool positions = false;                 // positions for a rotary embedding
  bool last_position = false;             // attention: the number of keys minus one
  bool total_length = false;              // attention: the number of keys
  FirstOperator first = FirstOperator::none;
};

// The uses of each of model.inputs(), in the same order. Found by following each input forward
// through operators that only move elements, also into subgraphs and local functions.
std::vector<InputUses> input_uses(const Model& model);

}  // namespace vernier
