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

// How the scales and the stored numbers of a weight in blocks are found.
enum class BlockRule {
  nearest,  // the largest magnitude of a block sets its scale, and every weight is rounded
  scales,   // the scale with the least error at the product's output, inputs being independent
  feedback  // the same, and what rounding one weight adds is taken from the weights behind it, as
            // far as their inputs are alike (GPTQ)
};
std::string_view block_rule_name(BlockRule rule);

struct BlockOptions {
  int bits = 4;  // 4 or 8
  std::int64_t block_size = 32;
  bool symmetric = true;  // else with a zero point for each block
  BlockRule rule = BlockRule::nearest;
  auto operator<=>(const BlockOptions&) const = default;
};

// The means of products of what a matrix product reads, x: of x_i x_j, or of x_i x_i alone where
// there are too many.
struct InputMoments {
  std::vector<double> squares;   // [K]
  std::vector<double> products;  // [K, K], row by row; empty: not known
};
using Moments = std::map<std::string, InputMoments>;  // by tensor

// Of the tensors, over the samples, as the float model computes them.
Moments measure_moments(const Model& model, const std::vector<std::string>& tensors,
                        const SampleRuns& runs);

// As MatMulNBits takes it: `packed` is uint8 [N, K / block_size, block_size * bits / 8], the scales
// are [N * K / block_size], zero points packed likewise.
struct PackedWeight {
  Tensor packed, scales;
  std::optional<Tensor> zero_points;
};

// A weight [K, N] in blocks along K. Rules other than `nearest` need moments; without products,
// `feedback` is `scales`.
PackedWeight pack_blocks(const TensorView& weight, const BlockOptions& options,
                         const InputMoments* moments = nullptr);

// Weights that were packed already, by name and options: a model that is written again with a few
// changes packs these alone.
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
