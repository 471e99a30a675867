#pragma once

#include <memory>
#include <vector>

#include "vernier/analysis/inputs/io_mapping.h"
#include "vernier/model/decoder.h"
#include "vernier/model/model.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// The reference's runner, fed the samples of a candidate that takes other inputs. Null if both take
// the same inputs, or if they are not two decoders with equally many caches, which are paired by
// name or else by order. The inputs that the samples lack, such as positions that the candidate
// computes, are made from the tokens and caches. `runner` must outlive the result.
std::unique_ptr<Runner> feed_decoder(Runner& runner, const Model& reference, const Model& candidate,
                                     const RoleOverrides& roles = {});

// The inputs that samples for the reference have: its own, or the candidate's if feed_decoder()
// converts them.
std::vector<TensorSpec> fed_inputs(const Model& reference, const Model& candidate,
                                   const RoleOverrides& roles = {});

// The cache of `decoder` that corresponds to a cache of `other`: by input name, else by index.
const CacheSpec& counterpart_cache(const Decoder& decoder, const Decoder& other, std::size_t cache);

// Pairs the caches of a reference that has its own names for them with the candidate's, by order.
// Does nothing if the reference has an output with the name of one of the candidate's caches, or if
// the numbers of caches differ.
void pair_cache_outputs(const Model& candidate, std::span<const TensorSpec> reference_outputs,
                        IoMapping& io);

}  // namespace vernier
