#include "vernier/analysis/task/sequences.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "vernier/error.h"

namespace vernier {
namespace {

void require_as_many(std::size_t predictions, std::size_t targets) {
  if (predictions != targets)
    throw Error(
        fmt::format("[bleu] {} predictions for {} targets; line i of both must belong "
                    "together",
                    predictions, targets));
}

// Numbers words in the order they first come.
class Vocabulary {
 public:
  explicit Vocabulary(const TokeniseOptions& options) : options_(options) {}

  Tokens number(const std::string& sentence) {
    Tokens tokens;
    for (std::string& word : tokenise(sentence, options_))
      tokens.push_back(numbers_.try_emplace(std::move(word), numbers_.size()).first->second);
    return tokens;
  }

 private:
  TokeniseOptions options_;
  std::unordered_map<std::string, std::int64_t> numbers_;
};

// The rows of token ids [sequences, tokens].
std::vector<Tokens> rows_of(const TensorView& ids) {
  if (ids.shape.size() != 2)
    throw Error(fmt::format("[bleu] '{}' has shape {}, expected token ids [sequences,tokens]",
                            ids.name, format_shape(ids.shape)));
  const std::vector<std::int64_t> values = to_integers(ids);
  std::vector<Tokens> rows;
  for (std::int64_t row = 0; row < ids.shape[0]; ++row) {
    const auto begin = values.begin() + row * ids.shape[1];
    rows.emplace_back(begin, begin + ids.shape[1]);
  }
  return rows;
}

// Leaves out the places where the mask, which may be shorter, holds `ignored`.
Tokens without_ignored_places(const Tokens& tokens, const Tokens& mask, std::int64_t ignored) {
  Tokens kept;
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (i >= mask.size() || mask[i] != ignored) kept.push_back(tokens[i]);
  return kept;
}

void leave_out(SequencePair& pair, std::int64_t ignored) {
  pair.prediction = without_ignored_places(pair.prediction, pair.targets[0], ignored);
  std::erase(pair.prediction, ignored);
  for (Tokens& target : pair.targets) std::erase(target, ignored);
}

}  // namespace

std::vector<SequencePair> pair_sentences(std::span<const std::string> predictions,
                                         std::span<const std::vector<std::string>> target_sets,
                                         const TokeniseOptions& options) {
  Vocabulary vocabulary(options);
  std::vector<SequencePair> pairs;
  for (const std::string& prediction : predictions)
    pairs.push_back({vocabulary.number(prediction), {}});
  for (const std::vector<std::string>& targets : target_sets) {
    require_as_many(predictions.size(), targets.size());
    for (std::size_t i = 0; i < targets.size(); ++i)
      pairs[i].targets.push_back(vocabulary.number(targets[i]));
  }
  return pairs;
}

SequencePair pair_tokens(Tokens prediction, Tokens target, std::optional<std::int64_t> ignored) {
  SequencePair pair{std::move(prediction), {std::move(target)}};
  if (ignored) leave_out(pair, *ignored);
  return pair;
}

std::vector<SequencePair> pair_token_ids(const TensorView& predictions,
                                         std::span<const Tensor> target_sets,
                                         std::optional<std::int64_t> ignored) {
  std::vector<SequencePair> pairs;
  for (Tokens& prediction : rows_of(predictions)) pairs.push_back({std::move(prediction), {}});
  for (const Tensor& targets : target_sets) {
    std::vector<Tokens> rows = rows_of(targets);
    require_as_many(pairs.size(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) pairs[i].targets.push_back(std::move(rows[i]));
  }
  if (ignored && !target_sets.empty())
    for (SequencePair& pair : pairs) leave_out(pair, *ignored);
  return pairs;
}

}  // namespace vernier
