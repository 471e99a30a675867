#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/analysis/quantize/calibrate.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// How a block-quantized weight is quantized.
enum class BlockRule {
  nearest,  // each block's largest magnitude sets its scale; weights are rounded to nearest
  scales,   // each block's scale minimises the error of the product, taking inputs as uncorrelated
  feedback  // as scales; besides, the rounding error of a weight is compensated by the weights
            // after it, by the correlation of their inputs (GPTQ)
};
std::string_view block_rule_name(BlockRule rule);

struct BlockOptions {
  int bits = 4;  // 4 or 8
  std::int64_t block_size = 32;
  bool symmetric = true;  // false for a zero point per block
  BlockRule rule = BlockRule::nearest;
  auto operator<=>(const BlockOptions&) const = default;
};

// Second moments of the input x of a matrix product, over rows and samples.
struct InputMoments {
  std::vector<double> squares;   // mean of x_i^2; [K]
  std::vector<double> products;  // mean of x_i x_j; [K, K]; empty if K is too large
};
using Moments = std::map<std::string, InputMoments>;  // by tensor

// Measures the tensors of the float model over the samples.
Moments measure_moments(const Model& model, const std::vector<std::string>& tensors,
                        const SampleRuns& runs);

// The layout of MatMulNBits: `packed` is uint8 [N, K / block_size, block_size * bits / 8], scales
// are [N * K / block_size], zero points are packed like weights.
struct PackedWeight {
  Tensor packed, scales;
  std::optional<Tensor> zero_points;
};

// Quantizes a weight [K, N] in blocks along K. Without moments every rule is `nearest`; without
// their products `feedback` is `scales`.
PackedWeight pack_blocks(const TensorView& weight, const BlockOptions& options,
                         const InputMoments* moments = nullptr);

// A cache of packed weights by name and options: when a model is written again with a few changes,
// only the changed weights are packed.
class PackedWeights {
 public:
  explicit PackedWeights(Moments moments) : moments_(std::move(moments)) {}
  std::shared_ptr<const PackedWeight> pack(const std::string& name, const TensorView& weight,
                                           const std::string& input, const BlockOptions& options);

 private:
  Moments moments_;
  std::mutex mutex_;
  std::map<std::pair<std::string, BlockOptions>, std::shared_ptr<const PackedWeight>> packed_;
};

}  // namespace vernier
