#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/evidence/other_channel.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

struct ChannelScale;
struct ModelWeight;

// A weight of the candidate and the reference's weight that it was made from.
struct PairedWeight {
  std::string candidate;
  // Empty if no reference weight has this name, and none of this shape is left unpaired. "a, b, c"
  // if the candidate's is the concatenation of several.
  std::string reference;
  std::int64_t elements = 0;
  std::optional<double> steps;  // max |difference| / stored scale; nullopt if not quantized
  double sqnr_db = 0;
  std::optional<WeightChannel> other_channel;  // that differs, of an otherwise similar weight
  std::optional<double> factor;                // candidate = factor * reference, within rounding
  bool same = false;
  bool equalised = false;   // the same after factors of its channels, which cancel between weights
  bool transposed = false;  // the same, but in another axis order than its readers need
  // Whether it is off by no more than rounding; true if it is not quantized.
  bool is_rounded() const { return !steps || *steps <= rounded_steps; }
  bool operator==(const PairedWeight&) const = default;
};

// Whether the dimensions other than 1 are the same, in any order.
bool shapes_fit(const Shape& first, const Shape& second);

bool is_better(const PairedWeight& row, const PairedWeight& than);

// Whether no other form can be nearer. A weight that is only similar may be nearer with a fold.
bool is_certain(const PairedWeight& row);

// The least |factor - 1| of a weight that was multiplied as a whole; other range ends give 0.008.
inline constexpr double least_scaling = 0.03;

// The row with the figures of two float32 weights of one shape, `candidate` read from `weight`. A
// quantized weight that is similar, but off by more than rounding, has to be similar in each
// channel: a wrong or lost channel hardly shows in the SQNR of a large weight.
PairedWeight compare_values(PairedWeight row, const TensorView& reference,
                            const TensorView& candidate, const ModelWeight& weight,
                            bool rounded_reference);

// Called with both weights in one form, and with the fold that the reference has in it, or null.
// Returns true to end the visit.
using VisitForm =
    std::function<bool(const TensorView& reference, const Tensor& candidate, const ChannelScale*)>;

// Visits every form in which the two may be the same: as stored, with the operators behind either
// layer folded in, and with the kernel flipped; in every axis order that gives the candidate's
// shape, or only in `order`. `real` is the candidate as read.
void visit_forms(const ModelWeight& reference, const ModelWeight& candidate, const Tensor& real,
                 const std::optional<std::vector<int>>& order, const VisitForm& visit);

// The nearest form, in the axis order that the readers need, if known; if the weights differ in it,
// in any order.
PairedWeight compare_pair(const ModelWeight& reference, const ModelWeight& candidate,
                          const Tensor& real);

}  // namespace vernier
