#include "vernier/analysis/decoding/fed_decoder.h"

#include <algorithm>
#include <optional>

#include "vernier/analysis/decoding/decoder_inputs.h"
#include "vernier/analysis/inputs/io_mapping.h"
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
  return std::make_unique<FedDecoder>(runner, std::move(decoders->reference), candidate.inputs(),
                                      std::move(decoders->candidate));
}

std::vector<TensorSpec> fed_inputs(const Model& reference, const Model& candidate,
                                   const RoleOverrides& roles) {
  return fed_decoders(reference, candidate, roles) ? candidate.inputs() : reference.inputs();
}

FedDecoder::FedDecoder(Runner& runner, Decoder decoder, std::vector<TensorSpec> inputs,
                       Decoder other)
    : runner_(runner),
      decoder_(std::move(decoder)),
      inputs_(std::move(inputs)),
      other_(std::move(other)) {}

std::vector<Tensor> FedDecoder::run(std::span<const Tensor> inputs, const Observer& observer) {
  const Tensor ids = convert(*find(inputs, other_.tokens), DType::i64);
  DecoderRun run{.tokens = elements<std::int64_t>(ids)};
  if (ids.shape.size() > 1) run.batch = ids.shape[0];
  std::vector<Tensor> caches;
  for (std::size_t i = 0; i < other_.caches.size(); ++i) {
    const CacheSpec& cache = other_.caches[i];
    const Tensor& fed = *find(inputs, cache.input);
    if (cache.length_axis >= 0) run.past = fed.shape[cache.length_axis];
    caches.push_back(fed);
    caches.back().name = counterpart_cache(decoder_, other_, i).input;
  }
  const std::vector<TensorSpec>& own = runner_.inputs();
  for (Tensor& cache : caches)
    if (const auto spec = std::ranges::find(own, cache.name, &TensorSpec::name);
        spec != own.end() && spec->dtype != cache.dtype)
      cache = convert(cache, spec->dtype);
  return runner_.run(decoder_inputs(decoder_, own, run, caches), observer);
}

}  // namespace vernier
