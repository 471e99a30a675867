#include "vernier/analysis/quantize/blocks.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "vernier/metrics/parallel.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// Products of more inputs are not kept: inverting the matrix takes cubic time.
constexpr std::int64_t most_products = 4096;
// Added to the diagonal, relative to its mean: the matrix may not be invertible otherwise.
constexpr double damping = 0.01;
// Range of scales that are tried, relative to the scale by the largest magnitude.
constexpr double least_factor = 0.6, most_factor = 1.2;
constexpr int factors = 31;
constexpr int refinements = 2;

// The quantizer of one block. Stored numbers range from 0 to steps_.
struct BlockScale {
  double scale = 1;
  double zero = 0;
};

class BlockPacker {
 public:
  BlockPacker(const TensorView& weight, const BlockOptions& options, const InputMoments* moments)
      : options_(options),
        rows_(weight.shape[0]),
        columns_(weight.shape[1]),
        blocks_((rows_ + options.block_size - 1) / options.block_size),
        steps_((1 << options.bits) - 1),
        middle_(1 << (options.bits - 1)),
        values_(to_f32(weight)) {
    if (moments && options.rule != BlockRule::nearest) importance_ = moments->squares;
    if (moments && options.rule == BlockRule::feedback && !moments->products.empty())
      factor_inverse(moments->products);
  }

  PackedWeight pack() {
    const std::int64_t bytes = options_.block_size * options_.bits / 8;
    PackedWeight result{.packed = make_tensor("", DType::u8, {columns_, blocks_, bytes}),
                        .scales = make_tensor("", DType::f32, {columns_ * blocks_}),
                        .zero_points = std::nullopt};
    const std::int64_t zero_bytes = (blocks_ * options_.bits + 7) / 8;
    if (!options_.symmetric)
      result.zero_points = make_tensor("", DType::u8, {columns_ * zero_bytes});
    const auto packed = elements<std::uint8_t>(result.packed);
    const auto scales = elements<float>(result.scales);
    const auto put = [&](std::span<std::uint8_t> into, std::int64_t at, int value) {
      if (options_.bits == 8)
        into[at] = static_cast<std::uint8_t>(value);
      else
        into[at / 2] |= static_cast<std::uint8_t>(value << (at % 2 * 4));
    };
    parallel_for(columns_, thread_count(0), [&](std::int64_t column) {
      std::vector<double> weights(static_cast<std::size_t>(rows_));
      for (std::int64_t row = 0; row < rows_; ++row)
        weights[row] = values_[row * columns_ + column];
      for (std::int64_t block = 0; block < blocks_; ++block) {
        const std::int64_t first = block * options_.block_size;
        const std::int64_t last = std::min(rows_, first + options_.block_size);
        const BlockScale scale = scale_of(std::span(weights).subspan(first, last - first), first);
        scales[column * blocks_ + block] = static_cast<float>(scale.scale);
        const std::int64_t place = column * blocks_ + block;
        if (result.zero_points)
          put(elements<std::uint8_t>(*result.zero_points).subspan(column * zero_bytes, zero_bytes),
              block, static_cast<int>(scale.zero));
        for (std::int64_t row = first; row < first + options_.block_size; ++row) {
          const double stored = row < last ? nearest(weights[row], scale) : scale.zero;
          put(packed.subspan(place * bytes, bytes), row - first, static_cast<int>(stored));
          if (row < last) pass_on(weights, row, (stored - scale.zero) * scale.scale);
        }
      }
    });
    return result;
  }

 private:
  double nearest(double weight, const BlockScale& scale) const {
    return std::clamp(std::nearbyint(weight / scale.scale + scale.zero), 0.0, double(steps_));
  }

  // Computes the upper triangular U with inverse(products) = transpose(U) U.
  void factor_inverse(const std::vector<double>& products) {
    const auto size = static_cast<std::size_t>(rows_);
    double mean = 0;
    for (std::size_t i = 0; i < size; ++i) mean += products[i * size + i] / double(size);
    if (!(mean > 0) || !std::isfinite(mean)) return;
    std::vector<double> lower = products;
    for (std::size_t i = 0; i < size; ++i) lower[i * size + i] += damping * mean;
    if (!cholesky(lower, size)) return;
    std::vector<double> inverse = inverse_of(lower, size);
    if (!cholesky(inverse, size)) return;
    upper_.resize(size * size);
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; j <= i; ++j) upper_[j * size + i] = inverse[i * size + j];
  }

  // Replaces the matrix by its Cholesky factor, the lower triangular L with matrix = L
  // transpose(L). False if the matrix is not positive definite.
  static bool cholesky(std::vector<double>& matrix, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) {
      double* row = &matrix[i * size];
      for (std::size_t j = 0; j <= i; ++j) {
        const double* other = &matrix[j * size];
        double sum = row[j];
        for (std::size_t k = 0; k < j; ++k) sum -= row[k] * other[k];
        if (i != j) {
          row[j] = sum / other[j];
          continue;
        }
        if (!(sum > 0)) return false;
        row[i] = std::sqrt(sum);
      }
      std::fill(row + i + 1, row + size, 0.0);
    }
    return true;
  }

  // inverse(L transpose(L)).
  static std::vector<double> inverse_of(const std::vector<double>& lower, std::size_t size) {
    std::vector<double> half(size * size);  // inverse(L), transposed: row j holds its column j
    parallel_for(std::ssize(half) / std::int64_t(size), thread_count(0), [&](std::int64_t place) {
      const auto column = static_cast<std::size_t>(place);
      double* out = &half[column * size];
      for (std::size_t i = column; i < size; ++i) {
        double sum = i == column ? 1 : 0;
        for (std::size_t k = column; k < i; ++k) sum -= lower[i * size + k] * out[k];
        out[i] = sum / lower[i * size + i];
      }
    });
    std::vector<double> inverse(size * size);
    parallel_for(std::int64_t(size), thread_count(0), [&](std::int64_t place) {
      const auto i = static_cast<std::size_t>(place);
      for (std::size_t j = 0; j < size; ++j) {
        double sum = 0;
        for (std::size_t k = std::max(i, j); k < size; ++k)
          sum += half[i * size + k] * half[j * size + k];
        inverse[i * size + j] = sum;
      }
    });
    return inverse;
  }

  // Compensates the rounding error of a weight by changing the weights after it (GPTQ).
  void pass_on(std::vector<double>& weights, std::int64_t row, double rounded) const {
    if (upper_.empty()) return;
    const double* factors_of_row = &upper_[static_cast<std::size_t>(row * rows_)];
    const double error = (weights[row] - rounded) / factors_of_row[row];
    for (std::int64_t i = row + 1; i < rows_; ++i) weights[i] -= error * factors_of_row[i];
  }

  BlockScale scale_of(std::span<const double> weights, std::int64_t first) const {
    if (!options_.symmetric) return asymmetric_scale(weights, first);
    // The weight of largest magnitude gets the lowest number, since that is one further from 0.
    double largest = 0;
    for (const double weight : weights)
      if (std::abs(weight) > std::abs(largest)) largest = weight;
    if (largest == 0) return {1, double(middle_)};
    const BlockScale base{as_float(largest / -middle_), double(middle_)};
    if (importance_.empty()) return base;
    return best_of(weights, first, base, {1, -1}, [&](double factor) {
      return BlockScale{as_float(base.scale * factor), base.zero};
    });
  }

  BlockScale asymmetric_scale(std::span<const double> weights, std::int64_t first) const {
    const double low = std::min(0.0, std::ranges::min(weights));
    const double high = std::max(0.0, std::ranges::max(weights));
    if (low == high) return {1, double(middle_)};
    const auto spread = [&](double factor) {
      const double scale = as_float(factor * (high - low) / steps_);
      return BlockScale{scale,
                        std::clamp(std::nearbyint(-factor * low / scale), 0.0, double(steps_))};
    };
    if (importance_.empty()) return spread(1);
    return best_of(weights, first, spread(1), {1}, spread);
  }

  // The scale with the least error: `best`, or one that begins at start(factor) and is refined.
  template <typename Start>
  BlockScale best_of(std::span<const double> weights, std::int64_t first, BlockScale best,
                     std::initializer_list<int> signs, const Start& start) const {
    double least = error_of(weights, first, best);
    for (const int sign : signs)
      for (int i = 0; i < factors; ++i) {
        const double factor = least_factor + (most_factor - least_factor) * i / (factors - 1);
        const BlockScale tried = refined(weights, first, start(sign * factor));
        const double error = error_of(weights, first, tried);
        if (!(error < least)) continue;
        least = error;
        best = tried;
      }
    return best;
  }

  // Alternates between rounding weights to a scale and fitting the scale to the rounded weights.
  BlockScale refined(std::span<const double> weights, std::int64_t first, BlockScale scale) const {
    for (int i = 0; i < refinements; ++i) {
      double products = 0, squares = 0;
      for (std::size_t j = 0; j < weights.size(); ++j) {
        const double number = nearest(weights[j], scale) - scale.zero;
        products += importance_[first + j] * number * weights[j];
        squares += importance_[first + j] * number * number;
      }
      if (!(squares > 0) || products == 0) break;
      scale.scale = as_float(products / squares);
    }
    return scale;
  }

  double error_of(std::span<const double> weights, std::int64_t first,
                  const BlockScale& scale) const {
    double error = 0;
    for (std::size_t j = 0; j < weights.size(); ++j) {
      const double off = weights[j] - (nearest(weights[j], scale) - scale.zero) * scale.scale;
      error += importance_[first + j] * off * off;
    }
    return error;
  }

  static double as_float(double value) { return static_cast<float>(value); }

  BlockOptions options_;
  std::int64_t rows_, columns_, blocks_;
  int steps_, middle_;
  std::vector<float> values_;
  std::vector<double> importance_;  // weight of each row's error; empty if all are equal
  std::vector<double> upper_;
};

}  // namespace

std::string_view block_rule_name(BlockRule rule) {
  switch (rule) {
    case BlockRule::nearest: return "round to nearest";
    case BlockRule::scales: return "scales by output error";
    default: return "error feedback";
  }
}

Moments measure_moments(const Model& model, const std::vector<std::string>& tensors,
                        const SampleRuns& runs) {
  Moments moments;
  std::map<std::string, std::int64_t> rows;
  for (const std::string& tensor : tensors) moments[tensor];
  OrtRunner runner(model.clone(), {.watch = Watch::only(tensors), .exact = true, .threads = 1});
  const auto add = [&](const TensorView& tensor) {
    const auto found = moments.find(std::string(tensor.name));
    if (found == moments.end() || tensor.shape.empty()) return;
    const std::vector<float> values = to_f32(tensor);
    const auto size = static_cast<std::size_t>(tensor.shape.back());
    InputMoments& sums = found->second;
    if (sums.squares.empty()) {
      sums.squares.resize(size);
      if (std::int64_t(size) <= most_products) sums.products.resize(size * size);
    }
    for (std::size_t begin = 0; begin + size <= values.size(); begin += size) {
      const float* row = &values[begin];
      for (std::size_t i = 0; i < size; ++i) {
        sums.squares[i] += double(row[i]) * row[i];
        if (sums.products.empty()) continue;
        double* out = &sums.products[i * size];
        const double value = row[i];
        for (std::size_t j = 0; j <= i; ++j) out[j] += value * row[j];
      }
    }
    rows[found->first] += std::int64_t(values.size() / std::max<std::size_t>(1, size));
  };
  // Samples run in order, so that sums do not depend on the number of threads.
  for (const std::int64_t index : runs.indices) runner.run(runs.samples.sample(index), add);
  for (auto& [tensor, sums] : moments) {
    const auto count = static_cast<double>(std::max<std::int64_t>(1, rows[tensor]));
    const std::size_t size = sums.squares.size();
    for (double& square : sums.squares) square /= count;
    for (std::size_t i = 0; i < size && !sums.products.empty(); ++i)
      for (std::size_t j = 0; j <= i; ++j)
        sums.products[j * size + i] = sums.products[i * size + j] /= count;
  }
  return moments;
}

PackedWeight pack_blocks(const TensorView& weight, const BlockOptions& options,
                         const InputMoments* moments) {
  return BlockPacker(weight, options, moments).pack();
}

std::shared_ptr<const PackedWeight> PackedWeights::pack(const std::string& name,
                                                        const TensorView& weight,
                                                        const std::string& input,
                                                        const BlockOptions& options) {
  const std::lock_guard lock(mutex_);
  auto& packed = packed_[{name, options}];
  if (packed) return packed;
  const auto found = moments_.find(input);
  const bool fits = found != moments_.end() && std::ssize(found->second.squares) == weight.shape[0];
  packed = std::make_shared<const PackedWeight>(
      pack_blocks(weight, options, fits ? &found->second : nullptr));
  return packed;
}

}  // namespace vernier
