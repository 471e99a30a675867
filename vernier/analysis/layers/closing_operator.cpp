#include "vernier/analysis/layers/closing_operator.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/pairing/thresholds.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// Softmax over the last axis.
std::vector<double> softmax(std::vector<double> values, std::size_t width) {
  for (std::size_t begin = 0; begin + width <= values.size(); begin += width) {
    const auto row = std::span(values).subspan(begin, width);
    const double largest = *std::ranges::max_element(row);
    double sum = 0;
    for (double& value : row) sum += value = std::exp(value - largest);
    for (double& value : row) value /= sum;
  }
  return values;
}

template <typename Function>
std::vector<double> mapped(std::vector<double> values, Function function) {
  for (double& value : values) value = function(value);
  return values;
}

// SQNR in dB.
double likeness_db(const std::vector<double>& reference, const std::vector<double>& candidate) {
  double signal = 0, noise = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    signal += reference[i] * reference[i];
    noise += (reference[i] - candidate[i]) * (reference[i] - candidate[i]);
  }
  return 10 * std::log10(signal / noise);
}

// The final operator that turns `from` into `to`; empty if it is none of these.
std::string operator_between(const std::vector<double>& from, const std::vector<double>& to,
                             std::size_t width) {
  const auto relu = [](double value) { return std::max(value, 0.0); };
  const auto sigmoid = [](double value) { return 1 / (1 + std::exp(-value)); };
  const auto hyperbolic = [](double value) { return std::tanh(value); };
  const auto logarithm = [](double value) { return std::log(value); };
  const auto agrees = [&](const std::vector<double>& made) {
    return likeness_db(to, made) >= whole_layer_db;
  };
  if (agrees(softmax(from, width))) return "Softmax";
  if (agrees(mapped(softmax(from, width), logarithm))) return "LogSoftmax";
  if (agrees(mapped(from, sigmoid))) return "Sigmoid";
  if (agrees(mapped(from, relu))) return "Relu";
  if (agrees(mapped(from, hyperbolic))) return "Tanh";
  return "";
}

}  // namespace

LayerEvidence closing_operator(const Tensor& reference, const Tensor& candidate) {
  if (reference.size() != candidate.size() || reference.size() == 0 || reference.shape.empty())
    return {};
  const std::vector<double> expected = to_f64(reference), found = to_f64(candidate);
  const auto width = static_cast<std::size_t>(reference.shape.back());
  if (const std::string missing = operator_between(found, expected, width); !missing.empty())
    return {.fact = LayerEvidence::Fact::closing_operator_missing, .name = missing};
  if (const std::string extra = operator_between(expected, found, width); !extra.empty())
    return {.fact = LayerEvidence::Fact::closing_operator_extra, .name = extra};
  return {};
}

}  // namespace vernier
