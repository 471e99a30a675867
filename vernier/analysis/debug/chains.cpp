#include <algorithm>
#include <cmath>
#include <numeric>

#include "vernier/analysis/debug/switch_groups.h"

namespace vernier {
namespace {

// Errors with a cosine above this count as parallel.
constexpr double parallel_cosine = 0.9;
// Nodes with a smaller share of the noise belong to no chain.
constexpr double least_chain_share = 0.01;

double cosine(const std::vector<float>& a, const std::vector<float>& b) {
  double products = 0, first = 0, second = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    products += static_cast<double>(a[i]) * b[i];
    first += static_cast<double>(a[i]) * a[i];
    second += static_cast<double>(b[i]) * b[i];
  }
  return products / std::sqrt(first * second);
}

}  // namespace

std::vector<GroupSet> find_chains(const SwitchedNoise& noise, std::span<const SwitchGroup> groups,
                                  const SwitchSettings& off, const GroupSignals& signals) {
  GroupSet noisy;
  for (std::size_t i = 0; i < groups.size(); ++i)
    if (signals.alone_on[i] >= least_chain_share * signals.all_on &&
        std::isfinite(signals.alone_on[i]))
      noisy.push_back(i);
  std::vector<SwitchSettings> settings;
  for (const std::size_t group : noisy)
    settings.push_back(with(off, groups, {group}, SwitchSetting::as_in_file()));
  const std::vector<std::vector<float>> errors = noise.errors(settings);
  std::vector<std::size_t> root(noisy.size());
  std::iota(root.begin(), root.end(), 0);
  const auto find = [&](std::size_t i) {
    while (root[i] != i) i = root[i];
    return i;
  };
  for (std::size_t i = 0; i < noisy.size(); ++i)
    for (std::size_t j = i + 1; j < noisy.size(); ++j)
      if (cosine(errors[i], errors[j]) > parallel_cosine) root[find(j)] = find(i);
  std::vector<GroupSet> chains(noisy.size());
  for (std::size_t i = 0; i < noisy.size(); ++i) chains[find(i)].push_back(noisy[i]);
  std::erase_if(chains, [](const auto& chain) { return chain.size() < 2; });
  return chains;
}

}  // namespace vernier
