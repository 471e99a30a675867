#include "vernier/analysis/quantize/bias_correction.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cmath>

#include "vernier/analysis/quantize/weights.h"
#include "vernier/metrics/parallel.h"
#include "vernier/model/graph.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {
namespace {

constexpr int most_passes = 3;
// In the first pass corrections are updated after this many samples, whatever the thread count.
constexpr std::int64_t samples_a_correction = 8;

// The outputs of placed nodes whose bias can be corrected, by the model's tensor names.
std::map<std::string, const PlacedNode*, std::less<>> written_tensors(
    const Model& model, std::span<const PlacedNode> nodes) {
  std::map<std::string, std::string> outputs;
  for (const auto& node : model.graph().node())
    if (node.output_size() > 0) outputs[node_label(node)] = node.output(0);
  std::map<std::string, const PlacedNode*, std::less<>> tensors;
  for (const PlacedNode& node : nodes)
    if (const auto found = outputs.find(node.name);
        found != outputs.end() && node.channels > 0 && node.bias_reader)
      tensors[found->second] = &node;
  return tensors;
}

// The number of consecutive values of one channel; 0 if the tensor does not have these channels.
std::int64_t inner_of(const TensorView& tensor, const PlacedNode& node) {
  const auto rank = std::ssize(tensor.shape);
  const std::int64_t axis = node.channel_axis < 0 ? rank - 1 : node.channel_axis;
  if (tensor.dtype != DType::f32 || axis >= rank || tensor.shape[axis] != node.channels) return 0;
  return element_count(tensor.shape.subspan(axis + 1));
}

std::vector<double> channel_means(std::span<const float> values, const Channels& channels) {
  std::vector<double> means(static_cast<std::size_t>(channels.count));
  channels.for_each([&](std::int64_t channel, std::int64_t i) { means[channel] += values[i]; });
  for (double& mean : means)
    mean /= static_cast<double>(values.size()) / static_cast<double>(channels.count);
  return means;
}

// Runs a model, measures the channel means of placed nodes and corrects them on the fly.
class Measured {
 public:
  Measured(const Model& model, std::span<const PlacedNode> nodes, const SampleRuns& runs)
      : tensors_(written_tensors(model, nodes)), runs_(runs) {
    std::vector<std::string> names;
    for (const auto& [tensor, node] : tensors_) names.push_back(tensor);
    if (!names.empty())
      runner_.emplace(model.clone(),
                      OrtOptions{.watch = Watch::only(names), .exact = true, .threads = 1});
  }

  bool has_nodes() const { return runner_.has_value(); }

  // Channel means of a sample, measured before the shifts are applied.
  NodeMeans run(std::int64_t sample, const BiasShifts& shifts) {
    NodeMeans means;
    runner_->run(runs_.samples.sample(runs_.indices[sample]), [&](const ObservedTensor& tensor) {
      const auto found = tensors_.find(tensor.name);
      if (found == tensors_.end()) return;
      const PlacedNode& node = *found->second;
      const std::int64_t inner = inner_of(tensor, node);
      if (inner == 0 || tensor.bytes.empty()) return;
      const Channels channels{node.channels, inner, tensor.size()};
      means[node.name] = channel_means(elements<float>(tensor), channels);
      const auto shift = shifts.find(node.name);
      if (shift == shifts.end()) return;
      auto* const values = reinterpret_cast<float*>(tensor.writable.data());
      channels.for_each([&](std::int64_t channel, std::int64_t i) {
        values[i] += static_cast<float>(shift->second[channel]);
      });
    });
    return means;
  }

 private:
  std::map<std::string, const PlacedNode*, std::less<>> tensors_;
  SampleRuns runs_;
  std::optional<OrtRunner> runner_;
};

// The differences of all samples so far, by node and channel.
class Differences {
 public:
  void add(const NodeMeans& reference, const NodeMeans& quantized) {
    for (const auto& [node, means] : quantized) {
      const auto found = reference.find(node);
      if (found == reference.end() || found->second.size() != means.size()) continue;
      auto& channels = values_[node];
      channels.resize(means.size());
      for (std::size_t i = 0; i < means.size(); ++i)
        channels[i].push_back(found->second[i] - means[i]);
    }
  }

  BiasShifts shifts() const {
    BiasShifts shifts;
    for (const auto& [node, channels] : values_) {
      std::vector<double> shift;
      for (const std::vector<double>& differences : channels)
        shift.push_back(certain_mean(differences));
      if (std::ranges::all_of(shift, [](double value) { return std::isfinite(value); }))
        shifts.emplace(node, std::move(shift));
    }
    return shifts;
  }

 private:
  std::map<std::string, std::vector<std::vector<double>>> values_;
};

}  // namespace

double certain_mean(std::span<const double> differences) {
  const auto count = static_cast<double>(differences.size());
  double sum = 0, squares = 0;
  for (const double each : differences) sum += each;
  const double mean = sum / count;
  for (const double each : differences) squares += (each - mean) * (each - mean);
  if (differences.size() < 2 || mean == 0) return mean;
  const double uncertainty = squares / (count - 1) / count;
  return mean * std::max(0.0, 1 - uncertainty / (mean * mean));
}

std::vector<NodeMeans> measure_means(const Model& model, std::span<const PlacedNode> nodes,
                                     const SampleRuns& runs) {
  Measured measured(model, nodes, runs);
  std::vector<NodeMeans> means(runs.indices.size());
  if (!measured.has_nodes()) return means;
  parallel_for(std::ssize(means), thread_count(runs.threads),
               [&](std::int64_t i) { means[i] = measured.run(i, {}); });
  return means;
}

BiasShifts find_bias_shifts(const std::vector<NodeMeans>& reference, const Model& quantized,
                            std::span<const PlacedNode> nodes, const SampleRuns& runs,
                            const std::function<bool(const BiasShifts& shifts)>& is_promising) {
  Measured measured(quantized, nodes, runs);
  if (!measured.has_nodes()) return {};
  const std::int64_t count = std::ssize(runs.indices);
  // A single node has no corrections before it.
  const int passes = nodes.size() == 1 ? 1 : most_passes;
  BiasShifts shifts;
  for (int pass = 0; pass < passes; ++pass) {
    Differences differences;
    for (std::int64_t begin = 0; begin < count; begin += samples_a_correction) {
      parallel_in_order(
          begin, std::min(count, begin + samples_a_correction), thread_count(runs.threads),
          [&](std::int64_t i) { return std::pair(i, measured.run(i, shifts)); },
          [&](const std::pair<std::int64_t, NodeMeans>& run) {
            differences.add(reference[run.first], run.second);
            return true;
          });
      if (pass == 0) shifts = differences.shifts();
    }
    shifts = differences.shifts();
    if (pass == 0 && passes > 1 && !is_promising(shifts)) break;
  }
  return shifts;
}

}  // namespace vernier
