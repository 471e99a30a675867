#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "vernier/analysis/quantize/calibrate.h"

namespace vernier {

// Channels of one tensor that can be scaled: the convolution that writes them multiplies, those
// that read them divide, and nothing in between (Relu, Clip from 0, pooling, products with other
// tensors) notices.
struct ScalableChannels {
  struct Reader {
    int node = 0;       // a Conv
    bool alone = true;  // each of its filters reads one channel: dividing costs no resolution
  };
  int writer = 0;      // a Conv
  std::string tensor;  // behind the writer's Relu or Clip
  std::int64_t channels = 0;
  std::vector<Reader> readers;
};

// In the main graph of a prepared model.
std::vector<ScalableChannels> find_scalable(const Model& model);

// The largest magnitude of each channel of the tensors, over what was shown.
class ChannelExtremes {
 public:
  explicit ChannelExtremes(std::vector<ScalableChannels> channels);
  std::vector<std::string> tensors() const;
  void observe(const TensorView& tensor);  // by several threads

  const std::vector<ScalableChannels>& channels() const { return channels_; }
  const std::vector<float>& of(const std::string& tensor) const { return extremes_.at(tensor); }

 private:
  std::vector<ScalableChannels> channels_;
  std::map<std::string, std::vector<float>, std::less<>> extremes_;
  std::mutex mutex_;
};

// The model with channels scaled so that each takes the range of its tensor, as far as that does
// not cost the weights behind it too much: a quantizer has one range for all of them. On the
// samples that were shown its outputs are the same; a channel that a Clip from 0 bounds is scaled
// no further than that. Nothing where no channels can be scaled.
std::optional<Model> equalize(const Model& model, const ChannelExtremes& extremes);

}  // namespace vernier
