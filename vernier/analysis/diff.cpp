#include "vernier/analysis/diff.h"

#include <algorithm>
#include <cmath>

#include "vernier/analysis/inputs/io_mapping.h"
#include "vernier/data/arrays.h"
#include "vernier/error.h"
#include "vernier/tensor/rows.h"

namespace vernier {
namespace {

bool can_split(const Tensor& reference, const Tensor& candidate) {
  if (reference.shape.empty() || candidate.shape.empty()) return false;
  return reference.shape == candidate.shape ||
         (reference.shape[0] > 0 && reference.shape[0] == candidate.shape[0]);
}

PairResult compare_arrays(const Tensor& reference, const Tensor& candidate, bool by_sample) {
  PairAccumulator pair(reference.name, {.ulp = true, .argmax = true});
  if (!by_sample || !can_split(reference, candidate)) {
    pair.add(0, reference, candidate);
    return pair.result();
  }
  for (std::int64_t row = 0; row < reference.shape[0]; ++row)
    pair.add(row, row_of(reference, row), row_of(candidate, row));
  PairResult result = pair.result();
  result.reference_dtype = reference.dtype;
  result.candidate_dtype = candidate.dtype;
  result.reference_shape = reference.shape;
  result.candidate_shape = candidate.shape;
  return result;
}

bool is_npy(const std::filesystem::path& path) {
  return path.extension() == ".npy" && !std::filesystem::is_directory(path);
}

// The candidate's name of the array that belongs to the reference's `name`.
std::string counterpart_of(const DiffOptions& options, const Arrays& candidate,
                           const std::string& name) {
  const auto mapped = options.mapped.find(name);
  if (mapped != options.mapped.end()) return mapped->second;
  return is_npy(options.reference) && is_npy(options.candidate) ? candidate.names.front() : name;
}

std::vector<PairResult> collect_pairs(const DiffOptions& options) {
  const Arrays reference = open_arrays(options.reference);
  const Arrays candidate = open_arrays(options.candidate);
  for (const auto& [from, to] : options.mapped) {
    require_name(from, reference.names, "--map-output", "the reference", "array");
    require_name(to, candidate.names, "--map-output", "the candidate", "array");
  }
  std::vector<PairResult> pairs;
  std::vector<std::string> paired;
  for (const std::string& name : reference.names) {
    const std::string counterpart = counterpart_of(options, candidate, name);
    const Tensor tensor = reference.read(name);
    if (std::ranges::count(candidate.names, counterpart) > 0) {
      paired.push_back(counterpart);
      pairs.push_back(
          compare_arrays(tensor, candidate.read(counterpart), options.leading_axis_is_samples));
    } else {
      pairs.push_back(one_sided(tensor, PairStatus::only_in_reference));
    }
  }
  for (const std::string& name : candidate.names)
    if (std::ranges::count(paired, name) == 0)
      pairs.push_back(one_sided(candidate.read(name), PairStatus::only_in_candidate));
  return pairs;
}

// Lowest for pairs that could not be compared or hold NaN, else the lowest SQNR.
double rank(const PairResult& pair) {
  if (pair.status != PairStatus::compared) return -INFINITY;
  const Statistics& sqnr = pair.similarity.statistics[0];
  if (sqnr.nan > 0) return -INFINITY;
  return sqnr.min;
}

}  // namespace

DiffResult diff(const DiffOptions& options) {
  DiffResult result{.pairs = collect_pairs(options)};
  std::vector<std::string> names;
  for (const PairResult& pair : result.pairs) names.push_back(pair.name);
  require_tensors(options.limits, names);
  std::vector<PairResult> judged = result.pairs;
  if (options.allow_missing) std::erase_if(judged, is_one_sided);
  result.verdict = make_verdict(options.limits, judge_pairs(judged, "array", options.limits));
  return result;
}

std::vector<PairResult> worst_first(std::vector<PairResult> pairs) {
  std::ranges::stable_sort(pairs, {}, rank);
  return pairs;
}

}  // namespace vernier
