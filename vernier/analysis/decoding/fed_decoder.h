#pragma once

#include <memory>
#include <vector>

#include "vernier/model/decoder.h"
#include "vernier/model/model.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// A decoder that takes another one's inputs: of these it reads the tokens and the caches, and makes
// what else it takes itself, as positions that the other computes. Both have as many caches, by
// name or else in one order. The runner must outlive it.
class FedDecoder : public Runner {
 public:
  FedDecoder(Runner& runner, Decoder decoder, std::vector<TensorSpec> inputs, Decoder other);

  const std::vector<TensorSpec>& inputs() const override { return inputs_; }
  const std::vector<TensorSpec>& outputs() const override { return runner_.outputs(); }
  std::vector<Tensor> run(std::span<const Tensor> inputs, const Observer& observer = {}) override;
  void seek(std::int64_t sample) override { runner_.seek(sample); }
  std::vector<WatchedTensor> watched() const override { return runner_.watched(); }
  std::vector<UnwatchedTensor> unwatched() const override { return runner_.unwatched(); }
  std::vector<std::string> warnings() const override { return runner_.warnings(); }

 private:
  Runner& runner_;
  Decoder decoder_;
  std::vector<TensorSpec> inputs_;
  Decoder other_;
};

// The reference's runner, fed the samples of a candidate that takes other inputs. Null: it takes
// the same, or they are no two decoders of as many caches.
std::unique_ptr<Runner> feed_decoder(Runner& runner, const Model& reference, const Model& candidate,
                                     const RoleOverrides& roles = {});

// The inputs of the runner that is fed: the reference's, or the candidate's where feed_decoder()
// makes those of them.
std::vector<TensorSpec> fed_inputs(const Model& reference, const Model& candidate,
                                   const RoleOverrides& roles = {});

// Which cache of `decoder` is fed what a cache of the other is: by the input's name, else by place.
const CacheSpec& counterpart_cache(const Decoder& decoder, const Decoder& other, std::size_t cache);

}  // namespace vernier
