#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "vernier/analysis/debug/diagnose.h"
#include "vernier/analysis/pairing/weight_counterpart.h"
#include "vernier/metrics/kernels.h"
#include "vernier/metrics/similarity.h"
#include "vernier/model/blocks.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/of_values.h"

namespace vernier {
namespace {

constexpr std::size_t shown_channels = 3;

std::int64_t channel_axis(const QuantizedWeight& weight, std::int64_t rank) {
  const std::int64_t axis = granularity(weight.quantizer) == Granularity::per_channel
                                ? weight.quantizer.axis
                                : weight.channel_axis;
  return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank - 1);
}

// Gathers channels of a float32 tensor, so that each is contiguous.
void gather_channels(const TensorView& tensor, std::int64_t axis, std::int64_t first,
                     std::int64_t count, std::vector<float>& gathered) {
  const std::int64_t channels = tensor.shape[axis];
  const std::int64_t inner = element_count(tensor.shape.subspan(axis + 1));
  const std::int64_t outer = element_count(tensor.shape.first(axis));
  gathered.resize(count * outer * inner);
  const float* from = elements<float>(tensor).data();
  // A few rows at a time, so that the written elements stay in cache if channels are columns.
  constexpr std::int64_t rows = 16;
  for (std::int64_t begin = 0; begin < outer; begin += rows)
    for (std::int64_t c = 0; c < count; ++c)
      for (std::int64_t o = begin; o < std::min(begin + rows, outer); ++o)
        for (std::int64_t i = 0; i < inner; ++i)
          gathered[(c * outer + o) * inner + i] = from[(o * channels + first + c) * inner + i];
}

// Calls visit(channel, reference, candidate) with the elements of each channel. Only a few channels
// are gathered at a time, since a weight may have gigabytes.
template <typename Visit>
void visit_channels(const TensorView& reference, const TensorView& candidate, std::int64_t axis,
                    const Visit& visit) {
  constexpr std::int64_t gathered_elements = 1 << 19;
  const std::int64_t channels = reference.shape[axis];
  const std::int64_t size = reference.size() / channels;
  const std::int64_t most = std::max<std::int64_t>(1, gathered_elements / size);
  std::vector<float> expected, found;
  for (std::int64_t first = 0; first < channels; first += most) {
    const std::int64_t count = std::min(most, channels - first);
    gather_channels(reference, axis, first, count, expected);
    gather_channels(candidate, axis, first, count, found);
    for (std::int64_t c = 0; c < count; ++c) {
      const auto channel_of = [&](const std::vector<float>& gathered) {
        return TensorView{"", DType::f32, std::span(&size, 1),
                          std::as_bytes(std::span(gathered).subspan(c * size, size))};
      };
      visit(first + c, channel_of(expected), channel_of(found));
    }
  }
}

// The channel, quantized with a symmetric scale of its own.
Tensor quantize_channel(const TensorView& channel, DType dtype) {
  const StoredRange range = stored_range(dtype);
  const double steps = is_signed(dtype) ? range.high : (range.high - range.low) / 2;
  float largest = 0;
  for (const float value : elements<float>(channel)) largest = std::max(largest, std::fabs(value));
  const double scale = largest > 0 ? static_cast<float>(largest / steps) : 1;
  return fake_quantize(channel, {.dtype = is_signed(dtype) ? dtype : DType::i8,
                                 .scale = scalar_tensor(DType::f32, scale)});
}

// Fills in the most damaged channels, and the gain of per-channel scales.
void measure_channels(DebugWeight& row, const TensorView& reference, const TensorView& candidate,
                      std::int64_t axis) {
  const bool one_scale =
      row.granularity == Granularity::per_tensor && is_integer(row.dtype) && bits(row.dtype) <= 16;
  NoiseSums per_channel;
  visit_channels(reference, candidate, axis,
                 [&](std::int64_t channel, const TensorView& expected, const TensorView& found) {
                   row.worst_channels.push_back({channel, sqnr_db(measure_noise(expected, found))});
                   if (one_scale)
                     per_channel =
                         pool(per_channel,
                              measure_noise(expected, quantize_channel(expected, row.dtype)));
                 });
  std::ranges::stable_sort(row.worst_channels, {}, [](const ChannelDamage& channel) {
    return std::isnan(channel.sqnr_db) ? -INFINITY : channel.sqnr_db;
  });
  row.worst_channels.resize(std::min(row.worst_channels.size(), shown_channels));
  if (one_scale) row.per_channel_gain_db = sqnr_db(per_channel) - *row.weight_sqnr_db;
}

struct BlockSums {
  double signal = 0, noise = 0;
  float largest = 0;
  std::int64_t at = 0;  // index of the largest element
  std::int64_t first = 0, count = 0;
  double crest() const {
    return signal > 0 ? largest / std::sqrt(signal / static_cast<double>(count)) : 0;
  }
};

std::vector<BlockSums> sum_blocks(const TensorView& reference, const TensorView& candidate,
                                  const Quantizer& quantizer) {
  std::vector<BlockSums> blocks(static_cast<std::size_t>(quantizer.scale.size()));
  const ScaleIndex index(reference.shape, quantizer);
  const auto expected = elements<float>(reference), found = elements<float>(candidate);
  for (std::int64_t i = 0; i < reference.size(); ++i) {
    BlockSums& block = blocks[static_cast<std::size_t>(index(i))];
    if (block.count++ == 0) block.first = i;
    const double value = expected[i], error = value - found[i];
    block.signal += value * value;
    block.noise += error * error;
    if (!(std::fabs(expected[i]) > block.largest)) continue;
    block.largest = std::fabs(expected[i]);
    block.at = i;
  }
  return blocks;
}

// `reference` is [N, K] with blocks along K, or [K, N].
BlockStatistics measure_blocks(const TensorView& reference, const TensorView& candidate,
                               const Quantizer& quantizer) {
  std::vector<BlockSums> blocks = sum_blocks(reference, candidate, quantizer);
  BlockStatistics result{.block_size = quantizer.block_size, .blocks = std::ssize(blocks)};
  const std::int64_t columns = reference.shape[1];
  const bool along_columns = quantizer.axis == 1 || quantizer.axis == -1;
  const auto input = [&](std::int64_t element) {
    return along_columns ? element % columns : element / columns;
  };
  double noise = 0, outlier_noise = 0;
  std::map<std::int64_t, std::int64_t> outliers;
  for (const BlockSums& block : blocks) {
    noise += block.noise;
    if (!(block.crest() > BlockStatistics::outlier_crest)) continue;
    ++result.outlier_blocks;
    outlier_noise += block.noise;
    ++outliers[input(block.at)];
  }
  result.outlier_noise_share = noise > 0 ? outlier_noise / noise : 0;
  const auto shown = std::min(blocks.size(), shown_channels);
  std::ranges::partial_sort(blocks, blocks.begin() + static_cast<std::ptrdiff_t>(shown),
                            std::greater(), &BlockSums::noise);
  for (const BlockSums& block : std::span(blocks).first(shown))
    result.worst.push_back({along_columns ? block.first / columns : block.first % columns,
                            input(block.first), input(block.first) + block.count - 1,
                            10 * std::log10(block.signal / block.noise), block.crest()});
  for (const auto& [channel, count] : outliers)
    if (count > 1) result.outlier_channels.push_back({channel, count});
  std::ranges::stable_sort(result.outlier_channels, std::greater(), &OutlierChannel::blocks);
  result.outlier_channels.resize(std::min(result.outlier_channels.size(), shown_channels));
  return result;
}

bool has_channels(const Tensor& tensor) { return tensor.shape.size() >= 2 && tensor.size() > 0; }

DebugWeight measure_weight(const QuantizedWeight& weight, const ModelIndex& float_model) {
  DebugWeight row{.weight_name = weight.name,
                  .form = weight.form,
                  .granularity = granularity(weight.quantizer),
                  .dtype = weight.quantizer.dtype};
  const Tensor candidate = weight.real();
  row.counterpart = find_counterpart(float_model, weight, candidate);
  if (!row.counterpart) return row;
  row.weight_name = row.counterpart.tensor;
  const auto reference = shaped_like(float_model, *float_model.weight(row.weight_name), candidate);
  if (!reference) return row;
  row.weight_sqnr_db = sqnr_db(measure_noise(reference->view, candidate));
  if (has_channels(candidate))
    measure_channels(row, reference->view, candidate,
                     channel_axis(weight, std::ssize(candidate.shape)));
  if (row.granularity == Granularity::blockwise && candidate.shape.size() == 2 &&
      is_aligned_f32(reference->view) && ScaleIndex::fits(candidate.shape, weight.quantizer))
    row.blocks = measure_blocks(reference->view, candidate, weight.quantizer);
  return row;
}

}  // namespace

std::vector<DebugWeight> measure_weights(const std::vector<QuantizedWeight>& weights,
                                         const ModelIndex& float_model) {
  std::vector<DebugWeight> rows;
  for (const QuantizedWeight& weight : weights) rows.push_back(measure_weight(weight, float_model));
  return rows;
}

}  // namespace vernier
