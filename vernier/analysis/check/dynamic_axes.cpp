#include "vernier/analysis/check/dynamic_axes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "vernier/analysis/check/batches.h"
#include "vernier/analysis/check/frozen_node.h"
#include "vernier/analysis/check/trial.h"
#include "vernier/metrics/similarity.h"

namespace vernier {
namespace {

using Sample = std::vector<Tensor>;

std::vector<std::int64_t> base_sizes(std::span<const DynamicAxis> axes, const Sample& sample) {
  std::vector<std::int64_t> sizes;
  for (const DynamicAxis& axis : axes)
    sizes.push_back(sample[axis.places[0].input].shape[axis.places[0].axis]);
  return sizes;
}

// "past + 1" is no axis of its own.
bool is_plain(const DynamicAxis& axis) {
  return std::ranges::none_of(axis.name, [](char c) { return c == '+' || c == '*' || c == '-'; });
}

// Doubling keeps what sizes have to be divisible by.
std::int64_t another_length(std::int64_t length) { return length < 16 ? length + 4 : 2 * length; }

class DeclaredAxes {
 public:
  DeclaredAxes(const Graphs& graphs, const Runs& runs, const CheckOptions& options)
      : graphs_(graphs),
        runs_(runs),
        options_(options),
        axes_(dynamic_axes(runs.runner->inputs())),
        base_(base_sizes(axes_, runs.samples.front())) {}

  Findings check() {
    Findings findings;
    for (std::size_t i = 0; i < axes_.size(); ++i)
      if (is_plain(axes_[i]) && is_certain(axes_[i])) append(findings, check_axis(i));
    return findings;
  }

 private:
  // Which unnamed axes of several inputs go together is not known.
  bool is_certain(const DynamicAxis& axis) const {
    std::set<std::size_t> inputs;
    for (const DynamicAxis& other : axes_)
      for (const DynamicAxis::Place& place : other.places)
        if (!other.named) inputs.insert(place.input);
    return axis.named || inputs.size() == 1;
  }

  Findings check_axis(std::size_t index) {
    const bool is_batch = axes_[index].is_batch;
    const std::vector<std::int64_t> sizes =
        is_batch ? std::vector<std::int64_t>{1, 2, 3}
                 : std::vector<std::int64_t>{another_length(base_[index])};
    for (const std::int64_t size : sizes) {
      if (size == base_[index]) continue;
      Findings findings =
          is_batch && base_[index] == 1 ? try_batch(index, size) : try_size(index, size);
      if (!findings.empty()) return findings;
    }
    return {};
  }

  // Several samples at once: each must come out as it does alone.
  Findings try_batch(std::size_t index, std::int64_t size) {
    const DynamicAxis& axis = axes_[index];
    const std::vector<Sample> samples = like_first(runs_.samples, size);
    const Sample joined = join_samples(samples, axis);
    const Trial trial = try_run(*runs_.runner, joined);
    if (!trial.outputs) return frozen(index, size, joined, trial.error);
    if (auto finding = not_followed(index, size, *trial.outputs)) return {*finding};
    if (!runs_.deterministic) return {};
    return mixed_rows(axis, single_samples(samples, axis), *trial.outputs);
  }

  // Inputs of these sizes; those that have not changed keep their values, which may be given ones.
  Sample drawn(std::span<const std::int64_t> sizes) const {
    const auto& inputs = runs_.runner->inputs();
    Sample sample = draw_inputs(runs_, inputs, shapes_with(inputs, axes_, sizes), 0);
    for (std::size_t i = 0; i < sample.size(); ++i)
      if (sample[i].shape == runs_.samples.front()[i].shape) sample[i] = runs_.samples.front()[i];
    return sample;
  }

  Findings try_size(std::size_t index, std::int64_t size) {
    std::vector<std::int64_t> sizes = base_;
    sizes[index] = size;
    const Sample sample = drawn(sizes);
    const Trial trial = try_run(*runs_.runner, sample);
    if (!trial.outputs)
      return runs_with_others(index, size) ? Findings{} : frozen(index, size, sample, trial.error);
    if (auto finding = not_followed(index, size, *trial.outputs)) return {*finding};
    return {};
  }

  // Lengths of several inputs may have to agree: then they can only change together.
  bool runs_with_others(std::size_t index, std::int64_t size) {
    std::vector<std::int64_t> sizes = base_;
    for (std::size_t i = 0; i < axes_.size(); ++i)
      if (axes_[i].is_batch == axes_[index].is_batch) sizes[i] = size;
    return std::ranges::count_if(axes_,
                                 [&](const DynamicAxis& axis) {
                                   return axis.is_batch == axes_[index].is_batch;
                                 }) > 1 &&
           try_run(*runs_.runner, drawn(sizes)).outputs.has_value();
  }

  Findings frozen(std::size_t index, std::int64_t size, const Sample& inputs,
                  const std::string& error) {
    const FrozenNode node =
        find_frozen_node(graphs_, inputs, error, base_[index], options_.runtime);
    return {
        make_finding("frozen-axis", node.subject,
                     fmt::format("'{}' is declared dynamic, but size {} fails{}", axes_[index].name,
                                 size, node.reason.empty() ? ": " + node.message : node.reason))};
  }

  // An output that declares the axis and does not have its size.
  std::optional<Finding> not_followed(std::size_t index, std::int64_t size,
                                      const std::vector<Tensor>& outputs) {
    const std::string& symbol = axes_[index].name;
    for (const TensorSpec& declared : graphs_.model.outputs()) {
      const auto output = std::ranges::find(outputs, declared.name, &Tensor::name);
      if (output == outputs.end() || output->shape.size() != declared.shape.size()) continue;
      for (std::size_t i = 0; i < declared.shape.size(); ++i)
        if (declared.shape[i].symbol == symbol && output->shape[i] != size) {
          const FrozenNode node = find_frozen_node_before(graphs_, declared.name, base_[index]);
          return make_finding(
              "frozen-axis", node.subject,
              fmt::format("with '{}' of {}, output '{}' has the shape {} and is declared {}{}",
                          symbol, size, declared.name, format_shape(output->shape),
                          format_shape(declared.shape), node.reason));
        }
    }
    return std::nullopt;
  }

  Findings mixed_rows(const DynamicAxis& axis, const std::vector<Sample>& singles,
                      const std::vector<Tensor>& together) {
    for (std::size_t row = 0; row < singles.size(); ++row) {
      const Trial alone = try_run(*runs_.runner, singles[row]);
      if (!alone.outputs) return {};
      for (std::size_t i = 0; i < together.size(); ++i)
        if (auto finding = mixed_row(axis, row, singles.size(), (*alone.outputs)[i], together[i]))
          return {*finding};
    }
    return {};
  }

  static std::optional<Finding> mixed_row(const DynamicAxis& axis, std::size_t row,
                                          std::size_t rows, const Tensor& alone,
                                          const Tensor& together) {
    if (alone.shape.empty() || together.shape.size() != alone.shape.size()) return std::nullopt;
    const auto count = static_cast<std::int64_t>(rows);
    if (together.shape[0] != alone.shape[0] * count || alone.size() == 0) return std::nullopt;
    const Tensor slice = slice_axis(together, 0, static_cast<std::int64_t>(row), count);
    if (slice.shape != alone.shape) return std::nullopt;
    const double sqnr_db = similarity(alone, slice).sqnr_db;
    if (sqnr_db >= same_rows_db || std::isnan(sqnr_db)) return std::nullopt;
    return make_finding("mixed-batch", {SubjectKind::tensor, alone.name},
                        fmt::format("with '{}' of {}, row {} of the output is only {:.1f} dB from "
                                    "what its sample gives alone",
                                    axis.name, rows, row, sqnr_db));
  }

  const Graphs& graphs_;
  const Runs& runs_;
  const CheckOptions& options_;
  std::vector<DynamicAxis> axes_;
  std::vector<std::int64_t> base_;
};

}  // namespace

Findings check_declared_axes(const Graphs& graphs, const Runs& runs, const CheckOptions& options) {
  return DeclaredAxes(graphs, runs, options).check();
}

}  // namespace vernier
