#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/metrics/similarity.h"

namespace vernier {

// A condition under which a run fails: "max_abs_diff>1e-3", or "name:metric>value" for the tensors
// whose name is, or matches as a glob, `name`.
struct Limit {
  enum class Fails { above, at_or_above, below, at_or_below };

  std::string tensor;  // empty: every tensor
  std::string metric;
  Fails fails = Fails::above;
  double value = 0;
  bool operator==(const Limit&) const = default;
};

// Throws Error for a text that is not of that form, or a metric that is not among `metrics`.
Limit parse_limit(std::string_view text, std::span<const std::string> metrics);
std::vector<Limit> parse_limits(std::span<const std::string> texts,
                                std::span<const std::string> metrics);
// With any metric, as another run has written it.
Limit parse_limit(std::string_view text);

// The limit that fails where this one does not: a target's.
Limit opposite(Limit limit);

std::string format_limit(const Limit& limit);        // as parse_limit reads it
std::string_view operator_text(const Limit& limit);  // ">", ">=", "<", "<="
std::vector<std::string> format_limits(std::span<const Limit> limits);

bool applies_to(const Limit& limit, std::string_view tensor);

// Whether the value keeps the limit; false for NaN.
bool within(const Limit& limit, double value);

// Whether a metric of any command is better if higher or if lower, by the beginning of its name.
Better better_of(std::string_view metric);

// Throws Error if a limit names a tensor that does not exist: a typo must not pass; or if
// there are limits and no tensors.
void require_tensors(std::span<const Limit> limits, std::span<const std::string> tensors);

}  // namespace vernier
