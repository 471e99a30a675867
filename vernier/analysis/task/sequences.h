#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/task/task_scores.h"
#include "vernier/metrics/tokenise.h"

namespace vernier {

// Predictions with their targets: sentence i of the predictions belongs to sentence i of every set
// of targets. A set with more or fewer sentences is an Error.

std::vector<SequencePair> pair_sentences(std::span<const std::string> predictions,
                                         std::span<const std::vector<std::string>> target_sets,
                                         const TokeniseOptions& options = {});

// One sequence of token ids with its target; what is left out is told below.
SequencePair pair_tokens(Tokens prediction, Tokens target,
                         std::optional<std::int64_t> ignored = std::nullopt);

// Token ids [sequences, tokens]; those equal to `ignored`, as padding is, are left out. Where the
// first target is `ignored` the prediction's token at that place is left out too, so that places
// still correspond.
std::vector<SequencePair> pair_token_ids(const TensorView& predictions,
                                         std::span<const Tensor> target_sets,
                                         std::optional<std::int64_t> ignored = std::nullopt);

}  // namespace vernier
