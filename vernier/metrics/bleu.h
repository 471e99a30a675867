#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace vernier {

using Tokens = std::vector<std::int64_t>;  // equal tokens have equal numbers
inline constexpr int bleu_order = 4;

// What BLEU needs to know of a sentence, or of several added up.
struct BleuStatistics {
  std::array<std::int64_t, bleu_order> correct{};  // n-grams of the prediction found in a target
  std::array<std::int64_t, bleu_order> total{};    // n-grams of the prediction
  std::int64_t prediction_length = 0;
  std::int64_t target_length = 0;  // of the target nearest in length, the shorter of two
  BleuStatistics& operator+=(const BleuStatistics& other);
  bool operator==(const BleuStatistics&) const = default;
};

// A prediction against one or more targets. An n-gram counts as often as the one target that has it
// most often.
BleuStatistics bleu_statistics(std::span<const std::int64_t> prediction,
                               std::span<const Tokens> targets);

// What a precision of zero is replaced by, so that one missing n-gram order does not make all zero.
enum class Smoothing {
  none,
  floor,        // a small count of correct n-grams
  add_k,        // k more n-grams, all correct, beyond single tokens
  exponential,  // half a correct n-gram, then a quarter, …
};

// By sacreBLEU's names: "none", "floor", "add-k", "exp".
std::optional<Smoothing> parse_smoothing(std::string_view name);
std::string_view smoothing_name(Smoothing smoothing);
std::span<const std::string_view> smoothing_names();

struct BleuOptions {
  Smoothing smoothing = Smoothing::exponential;
  std::optional<double> smoothing_value;  // of floor (0.1 if absent) and add_k (1)
  bool effective_order = false;           // leave out orders that the prediction is too short for
};

struct BleuScore {
  double score = 0;  // in percent
  std::array<double, bleu_order> precisions{};
  double brevity_penalty = 0;
  bool operator==(const BleuScore&) const = default;
};

// The score is 0 if no token at all is correct, or, unless smoothed, no n-gram of some order is.
BleuScore bleu(const BleuStatistics& statistics, const BleuOptions& options = {});

// Positions at which the prediction has the target's token, and positions of the target. Tokens
// beyond the target's end do not count. Positions where the target is `ignored` are left out.
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
