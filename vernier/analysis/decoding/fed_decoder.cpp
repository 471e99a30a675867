#include "vernier/analysis/decoding/fed_decoder.h"

#include <algorithm>
#include <optional>

#include "vernier/analysis/decoding/decoder_inputs.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

const Tensor* find(std::span<const Tensor> tensors, const std::string& name) {
  const auto found = std::ranges::find(tensors, name, &Tensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

// Whether the inputs have other names, so that a sample for one model does not fit the other.
bool takes_other_inputs(const Model& reference, const Model& candidate) {
  std::vector<std::string> expected = names_of(reference.inputs());
  std::vector<std::string> found = names_of(candidate.inputs());
  std::ranges::sort(expected);
  std::ranges::sort(found);
  return expected != found;
}

struct FedDecoders {
  Decoder reference, candidate;
};

std::optional<FedDecoders> fed_decoders(const Model& reference, const Model& candidate,
                                        const RoleOverrides& roles) {
  if (!takes_other_inputs(reference, candidate)) return std::nullopt;
  auto own = find_decoder(reference);
  auto other = find_decoder(candidate, roles);
  if (!own || !other || own->caches.size() != other->caches.size()) return std::nullopt;
  return FedDecoders{std::move(*own), std::move(*other)};
}

// Takes the inputs of the candidate.
class FedDecoder : public Runner {
 public:
  FedDecoder(Runner& runner, FedDecoders decoders, std::vector<TensorSpec> inputs)
      : runner_(runner), decoders_(std::move(decoders)), inputs_(std::move(inputs)) {}

  const std::vector<TensorSpec>& inputs() const override { return inputs_; }
  const std::vector<TensorSpec>& outputs() const override { return runner_.outputs(); }
  void seek(std::int64_t sample) override { runner_.seek(sample); }
  std::vector<WatchedTensor> watched() const override { return runner_.watched(); }
  std::vector<UnwatchedTensor> unwatched() const override { return runner_.unwatched(); }
  std::vector<std::string> warnings() const override { return runner_.warnings(); }

  std::vector<Tensor> run(std::span<const Tensor> inputs, const Observer& observer = {}) override {
    const Tensor ids = convert(*find(inputs, decoders_.candidate.tokens), DType::i64);
    DecoderRun run{.tokens = elements<std::int64_t>(ids)};
    if (ids.shape.size() > 1) run.batch = ids.shape[0];
    std::vector<Tensor> caches;
    for (std::size_t i = 0; i < decoders_.candidate.caches.size(); ++i) {
      const CacheSpec& cache = decoders_.candidate.caches[i];
      const Tensor& fed = *find(inputs, cache.input);
      if (cache.length_axis >= 0) run.past = fed.shape[cache.length_axis];
      caches.push_back(fed);
      caches.back().name = counterpart_cache(decoders_.reference, decoders_.candidate, i).input;
    }
    const std::vector<TensorSpec>& own = runner_.inputs();
    for (Tensor& cache : caches)
      if (const auto spec = std::ranges::find(own, cache.name, &TensorSpec::name);
          spec != own.end() && spec->dtype != cache.dtype)
        cache = convert(cache, spec->dtype);
    return runner_.run(decoder_inputs(decoders_.reference, own, run, caches), observer);
  }

 private:
  Runner& runner_;
  FedDecoders decoders_;
  std::vector<TensorSpec> inputs_;
};

}  // namespace

const CacheSpec& counterpart_cache(const Decoder& decoder, const Decoder& other,
                                   std::size_t cache) {
  const auto named =
      std::ranges::find(decoder.caches, other.caches[cache].input, &CacheSpec::input);
  return named != decoder.caches.end() ? *named : decoder.caches[cache];
}

std::unique_ptr<Runner> feed_decoder(Runner& runner, const Model& reference, const Model& candidate,
                                     const RoleOverrides& roles) {
  auto decoders = fed_decoders(reference, candidate, roles);
  if (!decoders) return nullptr;
  return std::make_unique<FedDecoder>(runner, *std::move(decoders), candidate.inputs());
}

std::vector<TensorSpec> fed_inputs(const Model& reference, const Model& candidate,
                                   const RoleOverrides& roles) {
  return fed_decoders(reference, candidate, roles) ? candidate.inputs() : reference.inputs();
}

void pair_cache_outputs(const Model& candidate, std::span<const TensorSpec> reference_outputs,
                        IoMapping& io) {
  const auto decoder = find_decoder(candidate, io.roles);
  if (!decoder || decoder->caches.empty()) return;
  const auto is_cache = [&](const TensorSpec& output) {
    return std::ranges::count(decoder->caches, output.name, &CacheSpec::output) > 0;
  };
  std::vector<std::string> caches;
  for (const TensorSpec& output : reference_outputs) {
    if (output.name == decoder->logits || io.outputs.contains(output.name)) continue;
    if (is_cache(output)) return;
    caches.push_back(output.name);
  }
  // In the order of the model's outputs: an order derived from the graph would hide swapped caches.
  std::vector<std::string> own;
  for (const TensorSpec& output : candidate.outputs())
    if (is_cache(output)) own.push_back(output.name);
  if (caches.size() != own.size()) return;
  for (std::size_t i = 0; i < caches.size(); ++i) io.outputs.emplace(caches[i], own[i]);
}

}  // namespace vernier
