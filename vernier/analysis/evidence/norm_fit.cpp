#include "vernier/analysis/evidence/norm_fit.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "vernier/model/index.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// A batch norm: the trained statistics of its input, and the observed sums.
struct ObservedNorm {
  std::vector<double> mean, variance;  // trained
  std::vector<double> sums, squares;   // observed, of each channel
  double count = 0;                    // observed elements of a channel
};

// By the name of the batch norm's input. Inputs of the model cannot be watched.
std::multimap<std::string, ObservedNorm, std::less<>> find_norms(const ModelIndex& index) {
  std::multimap<std::string, ObservedNorm, std::less<>> norms;
  const GraphIndex& graph = index.main();
  for (const auto& node : graph.graph().node()) {
    if (!is_op(node, "BatchNormalization") || node.input_size() != 5 ||
        graph.is_input(node.input(0)))
      continue;
    const auto mean = graph.numbers(node.input(3)), variance = graph.numbers(node.input(4));
    if (!mean || !variance || mean->size() != variance->size()) continue;
    const std::vector<double> zeros(mean->size());
    norms.emplace(node.input(0), ObservedNorm{*mean, *variance, zeros, zeros});
  }
  return norms;
}

void observe(ObservedNorm& norm, const TensorView& tensor) {
  const std::size_t channels = norm.mean.size();
  if (tensor.shape.size() < 2 || tensor.shape[1] != std::ssize(norm.mean) || tensor.size() == 0)
    return;
  const std::vector<float> values = to_f32(tensor);
  const std::size_t inner = values.size() / (channels * static_cast<std::size_t>(tensor.shape[0]));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t channel = i / inner % channels;
    norm.sums[channel] += values[i];
    norm.squares[channel] += double{values[i]} * values[i];
  }
  const std::size_t values_of_each = values.size() / channels;
  norm.count += static_cast<double>(values_of_each);
}

double median_distance(const ObservedNorm& norm) {
  std::vector<double> distances;
  for (std::size_t i = 0; i < norm.mean.size(); ++i) {
    const double mean = norm.sums[i] / norm.count;
    const double variance = norm.squares[i] / norm.count - mean * mean;
    const double ratio = variance / norm.variance[i];
    const double shift = mean - norm.mean[i];
    const double distance = (ratio - 1 - std::log(ratio) + shift * shift / norm.variance[i]) / 2;
    distances.push_back(std::isfinite(distance) ? distance : INFINITY);
  }
  const auto middle = distances.begin() + std::ssize(distances) / 2;
  std::ranges::nth_element(distances, middle);
  return *middle;
}

}  // namespace

std::optional<NormFit> measure_norm_fit(const ModelIndex& index, Samples& samples,
                                        const OrtOptions& runtime) {
  auto norms = find_norms(index);
  if (std::ssize(norms) < enough_norms) return std::nullopt;
  OrtOptions options = runtime;
  std::vector<std::string> names;
  for (auto norm = norms.begin(); norm != norms.end(); norm = norms.upper_bound(norm->first))
    names.push_back(norm->first);
  options.watch = Watch::only(std::move(names));
  OrtRunner runner(index.model().clone(), options);
  for (std::int64_t i = 0; i < samples.size(); ++i)
    runner.run(samples.sample(i), [&](const TensorView& tensor) {
      const auto [first, last] = norms.equal_range(tensor.name);
      for (auto norm = first; norm != last; ++norm) observe(norm->second, tensor);
    });
  NormFit fit;
  for (const auto& [tensor, norm] : norms) {
    if (norm.count == 0) continue;
    fit.score += median_distance(norm);
    ++fit.norms;
  }
  if (fit.norms < enough_norms) return std::nullopt;
  fit.score /= static_cast<double>(fit.norms);
  return fit;
}

}  // namespace vernier
