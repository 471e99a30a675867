#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "vernier/analysis/quantize/calibrate.h"

namespace vernier {

// Channels of a tensor that can be scaled without changing the model: the Conv that writes the
// tensor multiplies each channel by a factor, the Convs that read it divide, and the operators in
// between (Relu, Clip from 0, pooling, products with other tensors) preserve the factor.
struct ScalableChannels {
  struct Reader {
    int node = 0;       // a Conv
    bool alone = true;  // depthwise: each filter reads one channel, so dividing costs no resolution
  };
  int writer = 0;      // a Conv
  std::string tensor;  // the writer's output, behind its Relu or Clip
  std::int64_t channels = 0;
  std::vector<Reader> readers;
};

// Searches the main graph of a prepared model.
std::vector<ScalableChannels> find_scalable(const ModelIndex& index);

// The largest magnitude of each channel over all observed tensors.
class ChannelExtremes {
 public:
  explicit ChannelExtremes(std::vector<ScalableChannels> channels);
  std::vector<std::string> tensors() const;
  void observe(const TensorView& tensor);  // thread-safe

  const std::vector<ScalableChannels>& channels() const { return channels_; }
  const std::vector<float>& of(const std::string& tensor) const { return extremes_.at(tensor); }

 private:
  std::vector<ScalableChannels> channels_;
  std::map<std::string, std::vector<float>, std::less<>> extremes_;
  std::mutex mutex_;
};

// Scales channels so that each uses the full range of its tensor, since a quantizer has one range
// for all channels. Factors are limited where readers mix channels, because their weights get
// uneven. A channel is scaled at most to the largest channel's magnitude, so that a Clip behind the
// writer clips nothing more, and the outputs on the observed samples stay the same. nullopt if no
// channels can be scaled.
std::optional<Model> equalize(const Model& model, const ChannelExtremes& extremes);

}  // namespace vernier
