#include "vernier/analysis/limits.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "vernier/close_names.h"
#include "vernier/error.h"
#include "vernier/tensor/name_pattern.h"
#include "vernier/tensor/parse_number.h"

namespace vernier {
namespace {

using Fails = Limit::Fails;

struct Operator {
  std::string_view text;
  Fails fails;
};

// Longest first, so that ">=" is not read as ">".
constexpr std::array<Operator, 4> operators = {{{">=", Fails::at_or_above},
                                                {"<=", Fails::at_or_below},
                                                {">", Fails::above},
                                                {"<", Fails::below}}};

[[noreturn]] void reject(std::string_view text, const std::string& reason,
                         const std::string& example = "max_abs_diff>1e-3") {
  throw Error(
      fmt::format("[fail-if] '{}': {}; write METRIC>VALUE or TENSOR:METRIC<VALUE, as in '{}'", text,
                  reason, example));
}

// A limit on the metric, in the direction in which it can fail.
std::string example_of(const std::string& metric) {
  return metric + (better_of(metric) == Better::higher ? "<30" : ">1e-3");
}

// Without the metrics that are statistics of another one.
std::vector<std::string> base_names(std::span<const std::string> metrics) {
  std::vector<std::string> names;
  for (const std::string& metric : metrics) {
    const std::string base = metric.substr(0, metric.rfind('_'));
    const bool is_statistic = base != metric && std::ranges::count(metrics, base + "_mean") > 0 &&
                              std::ranges::count(metrics, base) > 0;
    if (!is_statistic) names.push_back(metric);
  }
  return names;
}

// "no metric 'sqnrdb' (did you mean sqnr_db?)"
std::string unknown_metric(const std::string& metric, std::span<const std::string> metrics) {
  const std::vector<std::string> names = base_names(metrics);
  std::vector<std::string> close = close_names(metric, names);
  if (close.empty()) close = close_names(metric, metrics);
  if (!close.empty())
    return fmt::format("no metric '{}' (did you mean {}?)", metric, fmt::join(close, ", "));
  return fmt::format(
      "no metric '{}'; there are {}{}", metric, fmt::join(names, ", "),
      names.size() < metrics.size() ? ", and each with _mean, _std, _min or _max" : "");
}

// "no tensor 'logit' (did you mean logits?)"
std::string unknown_tensor(const std::string& name, std::span<const std::string> tensors) {
  std::vector<std::string> names(tensors.begin(), tensors.end());
  std::ranges::sort(names);
  names.erase(std::ranges::unique(names).begin(), names.end());
  if (const auto close = close_names(name, names); !close.empty())
    return fmt::format("no tensor '{}' (did you mean {}?)", name, fmt::join(close, ", "));
  constexpr std::size_t most_shown = 3;
  const std::size_t shown = std::min(most_shown, names.size());
  return fmt::format("no tensor '{}' among {}{}; fix the name or the glob", name,
                     fmt::join(std::span(names).first(shown), ", "),
                     names.size() > shown ? fmt::format(" and {} more", names.size() - shown) : "");
}

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

double parse_value(std::string_view text, std::string_view number) {
  const auto value = parse_number<double>(number);
  if (!value || *value != *value) reject(text, fmt::format("'{}' is not a number", number));
  return *value;
}

}  // namespace

Limit parse_limit(std::string_view text) {
  // Tensor names may hold any character, so the condition is read from the right.
  const auto at = text.find_last_of("<>");
  if (at == std::string_view::npos) reject(text, "no < or >");
  const auto found = std::ranges::find_if(
      operators, [&](const Operator& op) { return text.substr(at).starts_with(op.text); });

  Limit limit{.fails = found->fails,
              .value = parse_value(text, trimmed(text.substr(at + found->text.size())))};
  std::string_view subject = trimmed(text.substr(0, at));
  if (const auto colon = subject.rfind(':'); colon != std::string_view::npos) {
    limit.tensor = trimmed(subject.substr(0, colon));
    subject = trimmed(subject.substr(colon + 1));
  }
  limit.metric = subject;
  return limit;
}

Limit parse_limit(std::string_view text, std::span<const std::string> metrics) {
  Limit limit = parse_limit(text);
  if (std::ranges::find(metrics, limit.metric) == metrics.end())
    reject(text, unknown_metric(limit.metric, metrics), example_of(metrics.front()));
  return limit;
}

std::vector<Limit> parse_limits(std::span<const std::string> texts,
                                std::span<const std::string> metrics) {
  std::vector<Limit> limits;
  for (const std::string& text : texts) limits.push_back(parse_limit(text, metrics));
  return limits;
}

Limit opposite(Limit limit) {
  switch (limit.fails) {
    case Fails::above: limit.fails = Fails::at_or_below; break;
    case Fails::at_or_above: limit.fails = Fails::below; break;
    case Fails::below: limit.fails = Fails::at_or_above; break;
    case Fails::at_or_below: limit.fails = Fails::above; break;
  }
  return limit;
}

std::string_view operator_text(const Limit& limit) {
  return std::ranges::find(operators, limit.fails, &Operator::fails)->text;
}

std::string format_limit(const Limit& limit) {
  return fmt::format("{}{}{}{}{}", limit.tensor, limit.tensor.empty() ? "" : ":", limit.metric,
                     operator_text(limit), limit.value);
}

std::vector<std::string> format_limits(std::span<const Limit> limits) {
  std::vector<std::string> texts;
  for (const Limit& limit : limits) texts.push_back(format_limit(limit));
  return texts;
}

bool applies_to(const Limit& limit, std::string_view tensor) {
  return limit.tensor.empty() || matches_name(limit.tensor, std::string(tensor));
}

bool within(const Limit& limit, double value) {
  switch (limit.fails) {
    case Fails::above: return value <= limit.value;
    case Fails::at_or_above: return value < limit.value;
    case Fails::below: return value >= limit.value;
    case Fails::at_or_below: return value > limit.value;
  }
  return false;
}

Better better_of(std::string_view metric) {
  for (const Metric& known : similarity_metrics)
    if (metric.starts_with(known.name)) return known.better;
  for (const std::string_view loss : {"perplexity", "pseudo_perplexity", "nll", "kl", "errors"})
    if (metric.starts_with(loss)) return Better::lower;
  return Better::higher;
}

void require_tensors(std::span<const Limit> limits, std::span<const std::string> tensors) {
  for (const Limit& limit : limits) {
    if (tensors.empty())
      throw Error(
          fmt::format("[fail-if] '{}': there is no tensor to compare", format_limit(limit)));
    if (std::ranges::none_of(tensors, [&](const auto& name) { return applies_to(limit, name); }))
      throw Error(fmt::format("[fail-if] '{}': {}", format_limit(limit),
                              unknown_tensor(limit.tensor, tensors)));
  }
}

}  // namespace vernier
