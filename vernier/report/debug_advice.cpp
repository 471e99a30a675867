#include "vernier/report/debug_advice.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "vernier/report/number.h"

namespace vernier {
namespace {

constexpr double worth_mentioning_db = 0.5;

double rank(const std::optional<double>& sqnr_db) {
  return !sqnr_db ? INFINITY : std::isnan(*sqnr_db) ? -INFINITY : *sqnr_db;
}

std::vector<DebugActivation> originators(const DebugResult& result) {
  std::vector<DebugActivation> rows;
  for (const DebugActivation& row : result.activations)
    if (row.verdict == DamageVerdict::originator) rows.push_back(row);
  std::ranges::stable_sort(rows, {}, [](const auto& row) { return rank(row.local_sqnr_db); });
  return rows;
}

double noise_power(const DebugActivation& row) {
  return std::pow(10, -rank(row.introduced_sqnr_db) / 10);
}

// Whether a tenth of the nodes adds more than half of the noise.
bool is_concentrated(const std::vector<DebugActivation>& ranked) {
  double total = 0, head = 0;
  const std::size_t tenth = std::max<std::size_t>(1, ranked.size() / 10);
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    const double power = noise_power(ranked[i]);
    total += power;
    if (i < tenth) head += power;
  }
  return total > 0 && head > total / 2;
}

}  // namespace

std::string range_advice(const DebugActivation& activation) {
  if (!activation.noise) return "";
  const RangeAdvice& best = activation.noise->best_range;
  if (!(best.gain_db >= worth_mentioning_db)) return "";
  if (best.factor >= 1) return fmt::format("widen {:.2g}x: +{:.1f} dB", best.factor, best.gain_db);
  return fmt::format("narrow {:.2g}x: +{:.1f} dB", 1 / best.factor, best.gain_db);
}

std::vector<DebugActivation> by_introduced_error(const DebugResult& result) {
  std::vector<DebugActivation> rows;
  for (const DebugActivation& row : result.activations)
    if (row.introduced_sqnr_db && !row.op.empty()) rows.push_back(row);
  std::ranges::stable_sort(rows, {}, [](const auto& row) { return rank(row.introduced_sqnr_db); });
  return rows;
}

std::vector<std::string> nodes_to_keep(const DebugResult& result, std::size_t count) {
  std::vector<std::string> nodes;
  for (const DebugActivation& row : by_introduced_error(result))
    if (nodes.size() < count && !row.node.empty() && std::isfinite(*row.introduced_sqnr_db))
      nodes.push_back(row.node);
  return nodes;
}

std::string conclusion(const DebugResult& result) {
  const std::vector<DebugActivation> worst = originators(result);
  const std::vector<DebugActivation> ranked = by_introduced_error(result);
  std::string text;
  if (worst.empty()) {
    text = "No tensor loses much by its own quantization.";
  } else {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < std::min<std::size_t>(3, worst.size()); ++i)
      names.push_back(fmt::format("{} ({} dB)", worst[i].tensor_name,
                                  format_decibels(*worst[i].local_sqnr_db)));
    text = fmt::format("{} tensors are damaged by their own quantization; the worst: {}.",
                       worst.size(), fmt::join(names, ", "));
  }
  if (ranked.empty()) return text;
  text +=
      is_concentrated(ranked)
          ? " The loss is concentrated: a tenth of the nodes adds more than half of the noise."
          : " The loss is spread over many nodes: keeping a few in float will not bring it back.";
  return text;
}

}  // namespace vernier
