#pragma once

#include <memory>
#include <vector>

#include "vernier/model/decoder.h"
#include "vernier/model/model.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// A decoder that is fed another decoder's inputs. It reads the tokens and the caches from them and
// makes its other inputs itself, such as positions that the other decoder computes. Both must have
// equally many caches, paired by name or else by order. The runner must outlive it.
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

// The reference's runner, fed the samples of a candidate that takes other inputs. Null if both take
// the same inputs, or if they are not two decoders with equally many caches.
std::unique_ptr<Runner> feed_decoder(Runner& runner, const Model& reference, const Model& candidate,
                                     const RoleOverrides& roles = {});

// The inputs that samples for the reference have: its own, or the candidate's if feed_decoder()
// converts them.
std::vector<TensorSpec> fed_inputs(const Model& reference, const Model& candidate,
                                   const RoleOverrides& roles = {});

// The cache of `decoder` that corresponds to a cache of `other`: by input name, else by index.
const CacheSpec& counterpart_cache(const Decoder& decoder, const Decoder& other, std::size_t cache);

}  // namespace vernier
