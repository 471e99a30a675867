#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "vernier/analysis/pair.h"
#include "vernier/model/model.h"

namespace vernier {

class ModelIndex;

// A slice of an output, filled by one operand of the output's final Concat. Parts are measured
// because boxes of 0 to 640 dominate the SQNR of an output that also holds scores of 0 to 1.
struct OutputPart {
  std::string output;
  bool of_reference = true;                   // whether `output` is the reference's name
  std::int64_t number = 1, count = 1;         // among the operands, counted from 1
  std::int64_t axis = 0, begin = 0, end = 0;  // range along the axis, `end` excluded
  std::int64_t length = 0;                    // of the whole axis
  bool is_share = false;                      // written by a Sigmoid or Softmax: values from 0 to 1
  bool operator==(const OutputPart&) const = default;
};

// "output0, part 2 of 2 (4 to 21 along axis 1)"
std::string part_name(const OutputPart& part);

struct PartResult {
  OutputPart part;
  PairResult pair;  // named by part_name
  bool operator==(const PartResult&) const = default;
};

// Returns the shapes that these tensors have when the model runs, as far as they can be observed.
using TensorShapes =
    std::function<std::map<std::string, Shape>(const std::vector<std::string>& tensors)>;

// The parts of the model's outputs. The search follows Identity, Cast, quantizers, Transpose, and a
// Reshape that keeps the axis whole. If all operands of a Concat have the same parts along another
// axis, as detection heads of several scales do, their joined tensor has these parts too. Model
// inputs, constants and cast integers are no parts. Requests shapes only if a Concat writes an
// output.
std::vector<OutputPart> find_output_parts(const ModelIndex& model, const TensorShapes& shapes_of);

// Whether the tensor holds floats and its axis is as long as the part's.
bool has_part(const TensorView& tensor, const OutputPart& part);
// Requires has_part(tensor, part).
Tensor slice_of(const TensorView& tensor, const OutputPart& part);

}  // namespace vernier
