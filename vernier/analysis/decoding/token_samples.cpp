#include "vernier/analysis/decoding/token_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <mutex>

#include "vernier/analysis/decoding/decoder_inputs.h"
#include "vernier/error.h"
#include "vernier/metrics/token_scores.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

class WholeSequences : public Samples {
 public:
  explicit WholeSequences(FedSequences fed) : fed_(std::move(fed)) {}
  std::int64_t size() const override { return std::ssize(fed_.sequences); }
  std::vector<Tensor> sample(std::int64_t index) override {
    return decoder_inputs(fed_.decoder, fed_.inputs, {.tokens = fed_.sequences.at(index)});
  }

 private:
  FedSequences fed_;
};

class TokensAt : public Samples {
 public:
  TokensAt(FedSequences fed, Teacher teacher, std::vector<std::vector<std::int64_t>> places)
      : fed_(std::move(fed)), teacher_(std::move(teacher)) {
    for (std::size_t i = 0; i < places.size(); ++i)
      for (const std::int64_t place : places[i]) places_.emplace_back(i, place);
  }

  std::int64_t size() const override { return std::ssize(places_); }

  std::vector<Tensor> sample(std::int64_t index) override {
    const std::lock_guard lock(mutex_);
    const auto [sequence, place] = places_.at(static_cast<std::size_t>(index));
    const std::span<const std::int64_t> tokens = fed_.sequences[sequence];
    if (sequence != sequence_ || place < teacher_.past) teacher_.begin();
    sequence_ = sequence;
    if (place > teacher_.past) teacher_.feed(tokens.subspan(teacher_.past, place - teacher_.past));
    return decoder_inputs(fed_.decoder, fed_.inputs, {tokens.subspan(place, 1), place},
                          teacher_.caches_for(fed_.decoder, fed_.inputs));
  }

 private:
  FedSequences fed_;
  Teacher teacher_;
  std::vector<std::pair<std::size_t, std::int64_t>> places_;
  std::mutex mutex_;
  std::size_t sequence_ = static_cast<std::size_t>(-1);
};

// The row with the largest KL; the first one with NaN, if any.
std::int64_t worst_row(const Tensor& reference, const Tensor& candidate) {
  if (candidate.shape != reference.shape)
    throw Error(fmt::format("[inputs] --at worst: logits of shape {} and {} cannot be compared",
                            format_shape(reference.shape), format_shape(candidate.shape)));
  const std::vector<double> kl = kl_by_row(reference, candidate);
  const auto invalid = std::ranges::find_if(kl, [](double each) { return std::isnan(each); });
  return (invalid != kl.end() ? invalid : std::ranges::max_element(kl)) - kl.begin();
}

}  // namespace

void Teacher::begin() {
  past = 0;
  caches.clear();
}

std::vector<Tensor> Teacher::feed(std::span<const std::int64_t> tokens) {
  const std::vector<TensorSpec>& inputs = runner.inputs();
  std::vector<Tensor> outputs =
      runner.run(decoder_inputs(decoder, inputs, {tokens, past}, caches_for(decoder, inputs)));
  past += std::ssize(tokens);
  caches = take_caches(decoder, outputs, caches);
  return outputs;
}

std::int64_t Teacher::next(std::span<const std::int64_t> tokens) {
  const std::vector<Tensor> outputs = feed(tokens);
  return best_token(*std::ranges::find(outputs, decoder.logits, &Tensor::name));
}

std::vector<Tensor> Teacher::caches_for(const Decoder& model,
                                        std::span<const TensorSpec> inputs) const {
  std::vector<Tensor> fed = caches;
  for (std::size_t i = 0; i < std::min(fed.size(), model.caches.size()); ++i) {
    const std::string& name = model.caches[i].input;
    const auto same = std::ranges::find(caches, name, &Tensor::name);
    if (same != caches.end()) fed[i] = *same;
    const auto spec = std::ranges::find(inputs, name, &TensorSpec::name);
    if (spec != inputs.end() && spec->dtype != fed[i].dtype) fed[i] = convert(fed[i], spec->dtype);
    fed[i].name = name;
  }
  return fed;
}

Teacher open_teacher(const InputTarget& target, const Decoder& own) {
  const Model& model = target.teacher ? *target.teacher : *target.onnx;
  auto decoder = target.teacher ? find_decoder(model) : own;
  // A teacher without the same number of caches cannot fill them: the model is then its own.
  const bool fits = decoder && decoder->caches.size() == own.caches.size();
  return {fits ? *decoder : own, OrtRunner((fits ? model : *target.onnx).clone())};
}

std::unique_ptr<Samples> whole_sequences(FedSequences fed) {
  return std::make_unique<WholeSequences>(std::move(fed));
}

std::unique_ptr<Samples> tokens_at(FedSequences fed, Teacher teacher,
                                   std::vector<std::vector<std::int64_t>> places) {
  return std::make_unique<TokensAt>(std::move(fed), std::move(teacher), std::move(places));
}

std::vector<std::vector<std::int64_t>> find_places(const FedSequences& fed,
                                                   const SequenceLogits& reference,
                                                   const Model& candidate,
                                                   std::span<const TokenPlace> at) {
  const bool worst = std::ranges::count(at, TokenPlace::Kind::worst, &TokenPlace::kind) > 0;
  std::optional<OrtRunner> beside;
  if (worst) beside.emplace(candidate.clone());
  std::vector<std::vector<std::int64_t>> places;
  for (const std::vector<std::int64_t>& tokens : fed.sequences) {
    std::vector<std::int64_t>& here = places.emplace_back();
    for (const TokenPlace& place : at) {
      if (place.kind == TokenPlace::Kind::number && place.number >= std::ssize(tokens))
        throw Error(fmt::format("[inputs] --at {}: a sequence has {} tokens, counted from 0",
                                place.number, tokens.size()));
      switch (place.kind) {
        case TokenPlace::Kind::first: here.push_back(0); break;
        case TokenPlace::Kind::last: here.push_back(std::ssize(tokens) - 1); break;
        case TokenPlace::Kind::number: here.push_back(place.number); break;
        case TokenPlace::Kind::worst:
          here.push_back(worst_row(
              reference(tokens),
              *find_logits(fed.decoder, beside->run(decoder_inputs(fed.decoder, fed.inputs,
                                                                   {.tokens = tokens})))));
      }
    }
    std::ranges::sort(here);
    const auto repeated = std::ranges::unique(here);
    here.erase(repeated.begin(), repeated.end());
  }
  return places;
}

}  // namespace vernier
