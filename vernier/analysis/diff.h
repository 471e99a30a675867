#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "vernier/analysis/pair.h"

namespace vernier {

struct DiffOptions {
  std::filesystem::path reference;  // .npy, .npz or a folder of .npy files
  std::filesystem::path candidate;
  bool leading_axis_is_samples = false;
  bool allow_missing = false;                 // arrays on one side only are no failure
  std::map<std::string, std::string> mapped;  // the reference's name to the candidate's
  std::vector<Limit> limits;
};

struct DiffResult {
  std::vector<PairResult> pairs;  // in reference order, then those that only the candidate has
  Verdict verdict;
  bool operator==(const DiffResult&) const = default;
};

// Compares arrays of the same name, one pair in memory at a time. Two .npy files are one pair,
// whatever their names.
DiffResult diff(const DiffOptions& options);

// The pairs from worst to best: those that could not be compared or hold NaN, then by SQNR.
std::vector<PairResult> worst_first(std::vector<PairResult> pairs);

}  // namespace vernier
