#include "vernier/analysis/quantize/calibrate.h"

#include <vernier_onnx.pb.h>

#include <cmath>

#include "vernier/metrics/parallel.h"
#include "vernier/model/blocks.h"
#include "vernier/model/graph.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {
namespace {

OrtOptions watching(std::vector<std::string> tensors) {
  return {.watch = Watch::only(std::move(tensors)), .exact = true, .threads = 1};
}

void add_values(ValueCounts& counts, const TensorView& tensor) {
  visit_blocks(tensor, [&](auto block) {
    if constexpr (std::is_same_v<typename decltype(block)::value_type, float>) {
      counts.add(block);
    } else {
      const std::vector<float> values(block.begin(), block.end());
      counts.add(values);
    }
  });
}

// Sums and counts of one sample's channels, in the order of a mean.
struct ChannelSums {
  std::vector<double> sums;
  double count = 0;
};

ChannelSums channel_sums(const TensorView& tensor, const PlacedNode& node) {
  ChannelSums result{std::vector<double>(static_cast<std::size_t>(node.channels)), 0};
  const auto rank = std::ssize(tensor.shape);
  const std::int64_t axis = node.channel_axis < 0 ? rank - 1 : node.channel_axis;
  if (axis >= rank || tensor.shape[axis] != node.channels) return result;
  const std::int64_t inner = element_count(tensor.shape.subspan(axis + 1));
  const std::vector<float> values = to_f32(tensor);
  for (std::size_t i = 0; i < values.size(); ++i)
    result.sums[static_cast<std::int64_t>(i) / inner % node.channels] += values[i];
  result.count = static_cast<double>(values.size()) / static_cast<double>(node.channels);
  return result;
}

}  // namespace

std::vector<Tensor> SharedSamples::sample(std::int64_t index) {
  const std::lock_guard lock(mutex_);
  return samples_.sample(index);
}

std::optional<Tensor> SharedSamples::labels(std::int64_t index) {
  const std::lock_guard lock(mutex_);
  return samples_.labels(index);
}

CalibrationValues calibrate(const Model& model, const PlacementPlan& plan, const SampleRuns& runs,
                            const std::function<void()>& sample_done) {
  CalibrationValues values;
  std::vector<std::string> watched;
  std::map<std::string, std::mutex, std::less<>> mutexes;
  for (const PlacedTensor& tensor : plan.tensors)
    if (plan.tensors[tensor.root].name == tensor.name) {
      values.emplace(tensor.name, ValueCounts{});
      mutexes[tensor.name];
      watched.push_back(tensor.name);
    }
  std::erase_if(watched, [&](const std::string& name) {
    return std::ranges::any_of(model.inputs(),
                               [&](const auto& input) { return input.name == name; });
  });
  OrtRunner runner(model.clone(), watching(std::move(watched)));
  const auto add = [&](const TensorView& tensor) {
    const auto mutex = mutexes.find(tensor.name);
    if (mutex == mutexes.end()) return;
    const std::lock_guard lock(mutex->second);
    add_values(values.at(std::string(tensor.name)), tensor);
  };
  std::mutex done;
  parallel_for(std::ssize(runs.indices), thread_count(runs.threads), [&](std::int64_t i) {
    const std::vector<Tensor> inputs = runs.samples.sample(runs.indices[i]);
    for (const Tensor& input : inputs) add(input);
    runner.run(inputs, [&](const ObservedTensor& tensor) { add(tensor); });
    const std::lock_guard lock(done);
    if (sample_done) sample_done();
  });
  return values;
}

CalibratedRanges ranges_by(RangeRule rule, const CalibrationValues& values, int bits) {
  CalibratedRanges ranges;
  for (const auto& [tensor, counts] : values)
    ranges.emplace(tensor, range_by(rule, counts, std::ldexp(1.0, bits) - 1));
  return ranges;
}

ChannelMeans channel_means(const Model& model, std::span<const PlacedNode> nodes,
                           const SampleRuns& runs) {
  std::map<std::string, const PlacedNode*, std::less<>> by_tensor;
  std::map<std::string, std::string> outputs;  // of nodes, as this model names them
  for (const auto& node : model.graph().node())
    if (node.output_size() > 0) outputs[node.name()] = node.output(0);
  std::vector<std::string> watched;
  for (const PlacedNode& node : nodes)
    if (const auto found = outputs.find(node.name);
        found != outputs.end() && node.channels > 0 && node.bias_reader) {
      by_tensor[found->second] = &node;
      watched.push_back(found->second);
    }
  if (watched.empty()) return {};
  OrtRunner runner(model.clone(), watching(watched));
  std::map<const PlacedNode*, ChannelSums> totals;
  using SampleSums = std::vector<std::pair<const PlacedNode*, ChannelSums>>;
  parallel_in_order(
      0, std::ssize(runs.indices), thread_count(runs.threads),
      [&](std::int64_t i) {
        SampleSums sums;
        runner.run(runs.samples.sample(runs.indices[i]), [&](const ObservedTensor& tensor) {
          if (const auto found = by_tensor.find(tensor.name); found != by_tensor.end())
            sums.emplace_back(found->second, channel_sums(tensor, *found->second));
        });
        return sums;
      },
      [&](SampleSums sums) {
        for (auto& [node, sample] : sums) {
          ChannelSums& total = totals[node];
          total.sums.resize(sample.sums.size());
          for (std::size_t i = 0; i < sample.sums.size(); ++i) total.sums[i] += sample.sums[i];
          total.count += sample.count;
        }
        return true;
      });
  ChannelMeans means;
  for (auto& [node, total] : totals) {
    if (total.count == 0) continue;
    for (double& sum : total.sums) sum /= total.count;
    means[node->name] = std::move(total.sums);
  }
  return means;
}

}  // namespace vernier
