#include "vernier/analysis/debug/weights.h"

#include <algorithm>
#include <cmath>

#include "vernier/analysis/layout.h"
#include "vernier/analysis/pairing/counterpart.h"
#include "vernier/analysis/pairing/thresholds.h"
#include "vernier/metrics/similarity.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

constexpr std::size_t shown_channels = 3;

std::int64_t channel_axis(const QuantizedWeight& weight, std::int64_t rank) {
  const std::int64_t axis = granularity(weight.quantizer) == Granularity::per_channel
                                ? weight.quantizer.axis
                                : weight.channel_axis;
  return std::clamp<std::int64_t>(axis < 0 ? axis + rank : axis, 0, rank - 1);
}

// The float weight in the shape of the quantized one. Matrices may be stored transposed, as
// MatMulNBits does; of a square one the order that agrees better is taken.
std::optional<Tensor> shaped_like(Tensor counterpart, const Tensor& real) {
  const Shape& shape = counterpart.shape;
  std::optional<Tensor> transposed;
  if (shape.size() == 2 && Shape{shape[1], shape[0]} == real.shape)
    transposed = permute_axes(counterpart, std::vector{1, 0});
  if (transposed && (shape != real.shape || sqnr_db(measure_noise(*transposed, real)) >
                                                sqnr_db(measure_noise(counterpart, real))))
    return transposed;
  if (counterpart.size() != real.size()) return std::nullopt;
  counterpart.shape = real.shape;
  return counterpart;
}

// The tensor with one axis in front, so that each channel is a run of elements.
Tensor channels_first(Tensor tensor, std::int64_t axis) {
  if (axis == 0) return tensor;
  std::vector<int> order = {static_cast<int>(axis)};
  for (int i = 0; i < static_cast<int>(tensor.shape.size()); ++i)
    if (i != axis) order.push_back(i);
  return permute_axes(tensor, order);
}

TensorView channel_of(const Tensor& tensor, std::int64_t channel) {
  const std::int64_t bytes = static_cast<std::int64_t>(tensor.bytes.size()) / tensor.shape[0];
  return {tensor.name, tensor.dtype, std::span(tensor.shape).subspan(1),
          std::span(tensor.bytes).subspan(channel * bytes, bytes)};
}

std::vector<ChannelDamage> worst_channels(const Tensor& reference, const Tensor& candidate) {
  std::vector<ChannelDamage> channels;
  for (std::int64_t i = 0; i < reference.shape[0]; ++i)
    channels.push_back(
        {i, sqnr_db(measure_noise(channel_of(reference, i), channel_of(candidate, i)))});
  std::ranges::stable_sort(channels, {}, [](const ChannelDamage& channel) {
    return std::isnan(channel.sqnr_db) ? -INFINITY : channel.sqnr_db;
  });
  channels.resize(std::min(channels.size(), shown_channels));
  return channels;
}

// What a scale for each channel would give: symmetric, from the channel's largest weight.
double per_channel_sqnr_db(const Tensor& reference, DType dtype) {
  const StoredRange range = stored_range(dtype);
  const double steps = is_signed(dtype) ? range.high : (range.high - range.low) / 2;
  NoiseSums sums;
  for (std::int64_t i = 0; i < reference.shape[0]; ++i) {
    const TensorView channel = channel_of(reference, i);
    float largest = 0;
    for (const float value : elements<float>(channel))
      largest = std::max(largest, std::fabs(value));
    Quantizer quantizer{.dtype = is_signed(dtype) ? dtype : DType::i8,
                        .scale = make_tensor("", DType::f32, {})};
    elements<float>(quantizer.scale)[0] = largest > 0 ? static_cast<float>(largest / steps) : 1.0F;
    sums = pool(sums, measure_noise(channel, fake_quantize(channel, quantizer)));
  }
  return sqnr_db(sums);
}

bool has_channels(const Tensor& tensor) { return tensor.shape.size() >= 2 && tensor.size() > 0; }

Tensor read_weight(const ModelIndex& model, const Weight& weight) {
  return convert(model.model().tensor(*weight.proto), DType::f32);
}

// The float weight most like it, if any is like it at all.
Counterpart counterpart_by_value(const Tensor& real, const ModelIndex& float_model) {
  Counterpart best;
  double best_db = value_match_db;
  if (real.size() < 2) return best;
  for (const Weight* weight : float_model.weights_of_size(real.size())) {
    const auto reference = shaped_like(read_weight(float_model, *weight), real);
    const double found_db = reference ? sqnr_db(measure_noise(*reference, real)) : -INFINITY;
    if (!(found_db > best_db)) continue;
    best_db = found_db;
    best = {weight->name, Match::value};
  }
  return best;
}

DebugWeight measure_weight(const QuantizedWeight& weight, const ModelIndex& float_model) {
  DebugWeight row{.weight_name = weight.name,
                  .counterpart = find_counterpart(float_model, weight),
                  .form = weight.form,
                  .granularity = granularity(weight.quantizer),
                  .dtype = weight.quantizer.dtype};
  Tensor candidate = weight.real();
  if (!row.counterpart) row.counterpart = counterpart_by_value(candidate, float_model);
  if (!row.counterpart) return row;
  row.weight_name = row.counterpart.tensor;
  auto reference =
      shaped_like(read_weight(float_model, *float_model.weight(row.weight_name)), candidate);
  if (!reference) return row;
  row.weight_sqnr_db = sqnr_db(measure_noise(*reference, candidate));
  if (!has_channels(candidate)) return row;
  const std::int64_t axis = channel_axis(weight, std::ssize(candidate.shape));
  const Tensor by_channel = channels_first(*std::move(reference), axis);
  row.worst_channels = worst_channels(by_channel, channels_first(std::move(candidate), axis));
  if (row.granularity == Granularity::per_tensor && is_integer(row.dtype) && bits(row.dtype) <= 16)
    row.per_channel_gain_db = per_channel_sqnr_db(by_channel, row.dtype) - *row.weight_sqnr_db;
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
