#include "vernier/analysis/evidence/channel_factors.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

constexpr int rounds = 20;  // of alternating least squares
constexpr std::int64_t most_blocks = 1 << 22;
constexpr std::int64_t elements_a_factor = 4;
constexpr double least_spread = 0.02;  // octaves between factors of equalised channels, at least
constexpr double most_residue = 0.1;   // octaves that rounding may leave of factors that cancel

// Sums over the elements that share an index on both axes.
struct Blocks {
  std::int64_t rows = 0, columns = 0;
  std::vector<double> products, squares;
};

Blocks blocks_of(const TensorView& reference, const TensorView& candidate) {
  Blocks blocks{reference.shape[0], reference.shape[1], {}, {}};
  const std::int64_t count = blocks.rows * blocks.columns, inside = reference.size() / count;
  blocks.products.resize(count);
  blocks.squares.resize(count);
  const auto from = elements<float>(reference), to = elements<float>(candidate);
  for (std::int64_t i = 0; i < reference.size(); ++i) {
    blocks.products[i / inside] += double{from[i]} * to[i];
    blocks.squares[i / inside] += double{from[i]} * from[i];
  }
  return blocks;
}

// Least-squares factors of one axis, given those of the other.
std::vector<double> fit(const Blocks& blocks, const std::vector<double>& known, bool rows) {
  const std::int64_t count = rows ? blocks.rows : blocks.columns;
  std::vector<double> above(count), below(count);
  for (std::int64_t row = 0; row < blocks.rows; ++row)
    for (std::int64_t column = 0; column < blocks.columns; ++column) {
      const double other = known[rows ? column : row];
      if (std::isnan(other)) continue;
      const std::int64_t at = row * blocks.columns + column;
      above[rows ? row : column] += other * blocks.products[at];
      below[rows ? row : column] += other * other * blocks.squares[at];
    }
  for (std::int64_t i = 0; i < count; ++i) above[i] = below[i] > 0 ? above[i] / below[i] : NAN;
  return above;
}

bool are_positive(const std::vector<double>& factors) {
  return std::ranges::none_of(factors, [](double factor) { return factor <= 0; });
}

// In octaves, minus their mean.
std::vector<double> centred(const std::vector<double>& factors) {
  std::vector<double> octaves;
  double sum = 0, count = 0;
  for (const double factor : factors) {
    octaves.push_back(std::log2(factor));
    if (std::isnan(octaves.back())) continue;
    sum += octaves.back();
    ++count;
  }
  for (double& each : octaves) each -= sum / count;
  return octaves;
}

// The sum of all factors in octaves, for each number of channels.
std::map<std::size_t, std::vector<double>> sums_of(std::span<const ChannelFactors> weights) {
  std::map<std::size_t, std::vector<double>> sums;
  for (const ChannelFactors& weight : weights)
    for (const auto* factors : {&weight.first, &weight.second}) {
      const std::vector<double> octaves = centred(*factors);
      auto& sum = sums.try_emplace(octaves.size(), octaves.size(), 0.0).first->second;
      for (std::size_t i = 0; i < octaves.size(); ++i) sum[i] += octaves[i];
    }
  return sums;
}

double largest(const std::vector<double>& octaves) {
  double most = 0;
  for (const double each : octaves)
    if (std::abs(each) > most) most = std::abs(each);
  return most;
}

// Whether the factors of a single square weight cancel between its two axes, as they do if it was
// transposed.
bool cancels_alone(std::span<const ChannelFactors> weights) {
  return std::ranges::any_of(weights, [](const ChannelFactors& weight) {
    const auto sums = sums_of(std::span(&weight, 1));
    return weight.first.size() == weight.second.size() &&
           largest(sums.begin()->second) <= most_residue;
  });
}

}  // namespace

std::optional<ChannelFactors> channel_factors(const TensorView& reference,
                                              const TensorView& candidate) {
  if (reference.shape.size() < 2 || !std::ranges::equal(reference.shape, candidate.shape) ||
      reference.shape[0] * reference.shape[1] > most_blocks ||
      reference.size() < elements_a_factor * (reference.shape[0] + reference.shape[1]))
    return std::nullopt;
  const Blocks blocks = blocks_of(reference, candidate);
  ChannelFactors factors{{}, std::vector(static_cast<std::size_t>(blocks.columns), 1.0)};
  for (int round = 0; round < rounds; ++round) {
    factors.first = fit(blocks, factors.second, true);
    factors.second = fit(blocks, factors.first, false);
  }
  if (!are_positive(factors.first) || !are_positive(factors.second)) return std::nullopt;
  return factors;
}

std::optional<ChannelFactors> cancelling_factors(std::span<const ChannelFactors> others,
                                                 const TensorView& reference,
                                                 const TensorView& candidate, std::size_t axis) {
  if (reference.shape.size() < 2 || !std::ranges::equal(reference.shape, candidate.shape))
    return std::nullopt;
  const auto sums = sums_of(others);
  const auto sum = sums.find(static_cast<std::size_t>(reference.shape[axis]));
  if (sum == sums.end()) return std::nullopt;
  ChannelFactors factors{std::vector(static_cast<std::size_t>(reference.shape[0]), 1.0),
                         std::vector(static_cast<std::size_t>(reference.shape[1]), 1.0)};
  std::ranges::transform(sum->second, (axis == 0 ? factors.first : factors.second).begin(),
                         [](double octaves) { return std::exp2(-octaves); });
  const Tensor scaled = times(reference, factors);
  double products = 0, squares = 0;
  const auto from = elements<float>(scaled), to = elements<float>(candidate);
  for (std::size_t i = 0; i < from.size(); ++i) {
    products += double{from[i]} * to[i];
    squares += double{from[i]} * from[i];
  }
  if (!(products > 0) || !(squares > 0)) return std::nullopt;
  for (double& factor : factors.first) factor *= products / squares;
  return factors;
}

Tensor times(const TensorView& weight, const ChannelFactors& factors) {
  Tensor result = copy(weight);
  const std::int64_t columns = weight.shape[1], inside = weight.size() / weight.shape[0] / columns;
  const auto values = elements<float>(result);
  for (std::int64_t i = 0; i < weight.size(); ++i)
    if (values[i] != 0)
      values[i] = static_cast<float>(values[i] * factors.first[i / inside / columns] *
                                     factors.second[i / inside % columns]);
  return result;
}

bool are_equalised(std::span<const ChannelFactors> weights) {
  const bool differ = std::ranges::all_of(weights, [](const ChannelFactors& weight) {
    return std::max(largest(centred(weight.first)), largest(centred(weight.second))) >=
           least_spread;
  });
  return !weights.empty() && differ && !cancels_alone(weights) &&
         std::ranges::all_of(sums_of(weights),
                             [](const auto& sum) { return largest(sum.second) <= most_residue; });
}

}  // namespace vernier
