#pragma once

#include <optional>
#include <span>
#include <vector>

#include "vernier/analysis/compare/compare.h"

namespace vernier {

// The outputs that the verdict judges: in exact arithmetic if it was run, and the input of a final
// Softmax or Sigmoid instead of its output if that could be compared.
std::vector<PairResult> judged_outputs(const CompareResult& result);

// The output with the lowest mean SQNR; one that was not compared, or is NaN, is the worst.
const PairResult& worst_output(std::span<const PairResult> outputs);

// What fails in the measured outputs of `result`. An output that only the candidate has does not.
// Adds a warning for each limit that is kept only because the sample holds next to no signal.
std::vector<Failure> output_failures(CompareResult& result, const CompareOptions& options);

// Whether other class ids fail the candidate. Of a quantized one they are a doubt, for they change
// with close calls; unless nothing else is judged, and the inputs are real.
bool fails_by_ids(const CompareOptions& options, const CompareResult& result);

// The output of class ids (or other integers) with the smallest share of equal elements; nullopt if
// all shares are within the limit.
std::optional<Failure> fewest_equal_ids(const CompareResult& result, const CompareOptions& options);

// The first part of an output that fails, but holds values that differ too little to prove
// anything.
std::optional<Failure> quiet_part(const CompareResult& result, const CompareOptions& options);

}  // namespace vernier
