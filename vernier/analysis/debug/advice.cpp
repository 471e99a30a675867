#include "vernier/analysis/debug/advice.h"

#include <algorithm>
#include <cmath>

#include "vernier/analysis/debug/debug.h"

namespace vernier {
namespace {

constexpr std::size_t nodes_to_keep = 3;

double rank(const std::optional<double>& sqnr_db) {
  return !sqnr_db ? INFINITY : std::isnan(*sqnr_db) ? -INFINITY : *sqnr_db;
}

// Indices of the rows that `wanted` accepts, the lowest value first.
template <typename Wanted>
std::vector<std::size_t> worst_first(const std::vector<DebugActivation>& rows,
                                     std::optional<double> DebugActivation::*value,
                                     const Wanted& wanted) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (wanted(rows[i])) indices.push_back(i);
  std::ranges::stable_sort(indices, {}, [&](std::size_t i) { return rank(rows[i].*value); });
  return indices;
}

bool is_concentrated(const std::vector<DebugActivation>& rows,
                     const std::vector<std::size_t>& ranked) {
  double total = 0, head = 0;
  const std::size_t tenth = std::max<std::size_t>(1, ranked.size() / 10);
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    const double power = std::pow(10, -rank(rows[ranked[i]].introduced_sqnr_db) / 10);
    total += power;
    if (i < tenth) head += power;
  }
  return total > 0 && head > total / 2;
}

}  // namespace

DebugAdvice advise(const std::vector<DebugActivation>& rows) {
  DebugAdvice advice{
      .originators =
          worst_first(rows, &DebugActivation::local_sqnr_db,
                      [](const auto& row) { return row.verdict == DamageVerdict::originator; }),
      .nodes = worst_first(rows, &DebugActivation::introduced_sqnr_db, [](const auto& row) {
        return row.introduced_sqnr_db && !row.op.empty();
      })};
  advice.is_concentrated = is_concentrated(rows, advice.nodes);
  for (const std::size_t i : advice.nodes)
    if (advice.keep_in_float.size() < nodes_to_keep && !rows[i].node.empty() &&
        std::isfinite(*rows[i].introduced_sqnr_db))
      advice.keep_in_float.push_back(rows[i].node);
  return advice;
}

}  // namespace vernier
