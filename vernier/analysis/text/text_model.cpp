#include "vernier/analysis/text/text_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "vernier/error.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

Tensor take_logits(std::vector<Tensor>& outputs, const Decoder& decoder) {
  const Tensor* logits = find_logits(decoder, outputs);
  if (!logits)
    throw Error(fmt::format("[text] no output scores tokens: expected '{}', or one of {} columns",
                            decoder.logits, decoder.vocabulary));
  return std::move(outputs[static_cast<std::size_t>(logits - outputs.data())]);
}

// The best token of the last row, and its margin over the second best.
std::pair<std::int64_t, double> best_of_last_row(const Tensor& logits) {
  std::vector<float> row(static_cast<std::size_t>(logits.shape.back()));
  widen(logits, logits.size() - std::ssize(row), row);
  const auto best = std::ranges::max_element(row);
  const std::int64_t token = best - row.begin();
  const float most = std::exchange(*best, -INFINITY);
  return {token, static_cast<double>(most) - static_cast<double>(std::ranges::max(row))};
}

}  // namespace

TextModel::TextModel(Runner& runner, Decoder decoder)
    : runner_(runner), decoder_(std::move(decoder)), inputs_(runner.inputs()) {}

TextModel::TextModel(Runner& runner, const TextModel& like)
    : runner_(runner),
      decoder_(like.decoder_),
      inputs_(like.inputs_),
      bindings_(bind_inputs(like.inputs_, runner.inputs())) {}

Tensor TextModel::logits(const DecoderRun& run) {
  if (run.past == 0) caches_.clear();
  std::vector<Tensor> inputs = decoder_inputs(decoder_, inputs_, run, caches_);
  if (bindings_) inputs = apply_bindings(*bindings_, runner_.inputs(), inputs);
  std::vector<Tensor> outputs = runner_.run(inputs);
  Tensor logits = take_logits(outputs, decoder_);
  if (keeps_cache()) caches_ = take_caches(decoder_, outputs, caches_);
  const std::int64_t rows = logits.shape.back() > 0 ? logits.size() / logits.shape.back() : 0;
  if (rows != std::ssize(run.tokens))
    throw Error(
        fmt::format("[text] '{}': shape {} for {} tokens; expected a row for each, so that every "
                    "token is scored: export the model, or record it, with all logits",
                    decoder_.logits, format_shape(logits.shape), run.tokens.size()));
  return logits;
}

TextModel::Continuation TextModel::generate(std::span<const std::int64_t> prompt,
                                            std::int64_t steps) {
  Continuation continuation;
  std::vector<std::int64_t> tokens(prompt.begin(), prompt.end());
  std::int64_t past = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    const auto fed = std::span<const std::int64_t>(tokens).subspan(past);
    const auto [token, margin] = best_of_last_row(logits({.tokens = fed, .past = past}));
    if (keeps_cache()) past = std::ssize(tokens);
    tokens.push_back(token);
    continuation.tokens.push_back(token);
    continuation.margins.push_back(margin);
  }
  return continuation;
}

}  // namespace vernier
