#include "vernier/analysis/decoding/pair_caches.h"

#include <algorithm>

#include "vernier/model/decoder.h"

namespace vernier {

void pair_cache_outputs(const Model& candidate, std::span<const TensorSpec> reference_outputs,
                        IoMapping& io) {
  const auto decoder = find_decoder(candidate, io.roles);
  if (!decoder || decoder->caches.empty()) return;
  std::vector<std::string> caches;
  for (const TensorSpec& output : reference_outputs) {
    if (output.name == decoder->logits || io.outputs.contains(output.name)) continue;
    if (std::ranges::find(decoder->caches, output.name, &CacheSpec::output) !=
        decoder->caches.end())
      return;
    caches.push_back(output.name);
  }
  // In the order of the model's outputs: an order derived from the graph would hide swapped caches.
  std::vector<std::string> own;
  for (const TensorSpec& output : candidate.outputs())
    if (std::ranges::find(decoder->caches, output.name, &CacheSpec::output) !=
        decoder->caches.end())
      own.push_back(output.name);
  if (caches.size() != own.size()) return;
  for (std::size_t i = 0; i < caches.size(); ++i) io.outputs.emplace(caches[i], own[i]);
}

}  // namespace vernier
