#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "vernier/analysis/pair.h"
#include "vernier/model/model.h"

namespace vernier {

// A slice of an output that an operand of its final Concat fills. Boxes of 0 to 640 beside scores
// of 0 to 1 are all of the output's signal: what becomes of the scores only their part shows.
struct OutputPart {
  std::string output;
  bool of_reference = true;                   // whose name that is; else the candidate's
  std::int64_t number = 1, count = 1;         // among the operands, counted from 1
  std::int64_t axis = 0, begin = 0, end = 0;  // along the axis, the end left out
  std::int64_t length = 0;                    // of the axis
  bool is_share = false;  // behind a Sigmoid or Softmax: it holds numbers from 0 to 1
  bool operator==(const OutputPart&) const = default;
};

// "output0, part 2 of 2 (4 to 21 along axis 1)"
std::string part_name(const OutputPart& part);

struct PartResult {
  OutputPart part;
  PairResult pair;  // of that name
  bool operator==(const PartResult&) const = default;
};

// The shapes of these tensors of a model as it runs; of those that could be seen.
using TensorShapes =
    std::function<std::map<std::string, Shape>(const std::vector<std::string>& tensors)>;

// The parts of the model's outputs, found behind Identity, Cast, quantizers, Transpose, and Reshape
// where that leaves the axis whole. Where a Concat joins others along another axis, as those of
// several scales, the parts of these are parts of all. Inputs that are passed on, constants and
// numbers made of integers are none. Shapes are only asked for where an output is a Concat.
std::vector<OutputPart> find_output_parts(const Model& model, const TensorShapes& shapes_of);

// Whether the tensor holds floats and has the part's axis.
bool has_part(const TensorView& tensor, const OutputPart& part);
// Of a tensor that has it.
Tensor slice_of(const TensorView& tensor, const OutputPart& part);

}  // namespace vernier
