#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace vernier {

using Tokens = std::vector<std::int64_t>;  // ids: equal tokens have equal ids
inline constexpr int bleu_order = 4;

// The counts that BLEU is computed from, of one sentence or summed over several.
struct BleuStatistics {
  std::array<std::int64_t, bleu_order> correct{};  // n-grams of the prediction found in a target
  std::array<std::int64_t, bleu_order> total{};    // n-grams of the prediction
  std::int64_t prediction_length = 0;
  std::int64_t target_length = 0;  // of the target nearest in length; the shorter one on a tie
  BleuStatistics& operator+=(const BleuStatistics& other);
  bool operator==(const BleuStatistics&) const = default;
};

// Counts for a prediction against one or more targets. An n-gram is correct at most as often as it
// occurs in the target that has it most often. Throws Error without a target.
BleuStatistics bleu_statistics(std::span<const std::int64_t> prediction,
                               std::span<const Tokens> targets);

// How a precision of zero is replaced, so that one order without a match does not make the score 0.
enum class Smoothing {
  none,
  floor,        // use a small count of correct n-grams
  add_k,        // add k to the counts of correct and of all n-grams, for orders above 1
  exponential,  // use 1/2 correct n-gram for the first such order, 1/4 for the second, …
};

// sacreBLEU's names: "none", "floor", "add-k", "exp".
std::optional<Smoothing> parse_smoothing(std::string_view name);
std::span<const std::string_view> smoothing_names();

struct BleuOptions {
  Smoothing smoothing = Smoothing::exponential;
  std::optional<double> smoothing_value;  // for floor (default 0.1) and add_k (default 1)
  bool effective_order = false;           // omit orders that the prediction is too short for
};

struct BleuScore {
  double score = 0;  // in percent
  std::array<double, bleu_order> precisions{};
  double brevity_penalty = 0;
  bool operator==(const BleuScore&) const = default;
};

// The score is 0 if no token is correct or, without smoothing, if some order has no correct n-gram.
BleuScore bleu(const BleuStatistics& statistics, const BleuOptions& options = {});

// The number of positions at which prediction and target have the same token, and the number of
// positions of the target. Positions where the target is `ignored` do not count.
struct TokenMatches {
  std::int64_t correct = 0;
  std::int64_t total = 0;
  TokenMatches& operator+=(const TokenMatches& other);
  bool operator==(const TokenMatches&) const = default;
};
TokenMatches token_matches(std::span<const std::int64_t> prediction,
                           std::span<const std::int64_t> target,
                           std::optional<std::int64_t> ignored = std::nullopt);

}  // namespace vernier
