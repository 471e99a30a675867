#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <set>
#include <unordered_set>

#include "vernier/analysis/check/batches.h"
#include "vernier/analysis/check/groups.h"
#include "vernier/metrics/similarity.h"

namespace vernier {
namespace {

// The node that freezes an axis at the size with which it was traced.
struct FrozenNode {
  Subject subject;
  Statement reason = {};  // constant_shape or constant_input; none if not known
};

// How many nodes are searched for a cause.
constexpr std::size_t most_nodes = 200;

Shape as_shape(const std::vector<double>& numbers) { return {numbers.begin(), numbers.end()}; }

// The constant target shape of a Reshape or Expand.
std::optional<Shape> constant_target(const GraphIndex& graph, const NodeProto& node) {
  if (!is_op(node, "Reshape") && !is_op(node, "Expand")) return std::nullopt;
  const auto numbers = graph.numbers(input_name(node, 1));
  return numbers ? std::optional(as_shape(*numbers)) : std::nullopt;
}

// Why a node that failed is itself the cause; none if it may not be.
Statement own_reason(const GraphIndex& graph, const NodeProto& node) {
  if (const auto target = constant_target(graph, node))
    return {StatementKind::constant_shape, {node.op_type(), node_label(node), *target}};
  for (const std::string& input : node.input()) {
    const auto shape = graph.constant(input) ? graph.declared_shape(input) : std::nullopt;
    if (shape && checked_element_count(*shape).value_or(0) > 1)
      return {StatementKind::constant_input, {node.op_type(), node_label(node), input, *shape}};
  }
  return {};
}

// The nearest Reshape or Expand before the node whose constant shape begins with `size`.
const NodeProto* frozen_before(const GraphIndex& graph, const NodeProto* node, std::int64_t size) {
  std::deque<const NodeProto*> waiting{node};
  std::unordered_set<const NodeProto*> seen;
  while (!waiting.empty() && seen.size() < most_nodes) {
    const NodeProto* next = waiting.front();
    waiting.pop_front();
    if (!next || !seen.insert(next).second) continue;
    const auto target = constant_target(graph, *next);
    if (target && !target->empty() && target->front() == size) return next;
    for (const std::string& input : next->input()) waiting.push_back(graph.producer(input));
  }
  return nullptr;
}

// Finds the cause in the message of a failed run. `size` is the size that works.
FrozenNode find_frozen_node(const ModelIndex& index, const std::string& error, std::int64_t size) {
  const FoundNode failed = find_failed_node(index, error);
  FrozenNode frozen{.subject = subject_of_error(index, error)};
  if (failed.node) frozen.reason = own_reason(*failed.graph, *failed.node);
  const bool is_cause = frozen.reason.kind != StatementKind::none && !is_op(*failed.node, "Gemm") &&
                        !is_op(*failed.node, "MatMul");
  if (failed.node && !is_cause)
    if (const NodeProto* cause = frozen_before(*failed.graph, failed.node, size)) {
      frozen.subject = node_subject(*failed.graph, *cause);
      frozen.reason = own_reason(*failed.graph, *cause);
    }
  return frozen;
}

// Finds the cause of an output that does not follow its input.
FrozenNode find_frozen_node_before(const ModelIndex& index, const std::string& output,
                                   std::int64_t size) {
  const GraphIndex& graph = index.main();
  const NodeProto* cause = frozen_before(graph, graph.producer(output), size);
  if (!cause) return {.subject = {SubjectKind::tensor, output}};
  return {.subject = node_subject(graph, *cause), .reason = own_reason(graph, *cause)};
}

std::vector<std::int64_t> base_sizes(std::span<const DynamicAxis> axes, const Sample& sample) {
  std::vector<std::int64_t> sizes;
  for (const DynamicAxis& axis : axes)
    sizes.push_back(sample[axis.places[0].input].shape[axis.places[0].axis]);
  return sizes;
}

// An expression like "past + 1" is not an axis of its own.
bool is_plain(const DynamicAxis& axis) {
  return std::ranges::none_of(axis.name, [](char c) { return c == '+' || c == '*' || c == '-'; });
}

// Sizes to try, in this order. Doubling preserves divisibility; image sizes often have to be
// multiples of 32.
std::vector<std::int64_t> other_sizes(const DynamicAxis& axis, std::int64_t base) {
  std::vector<std::int64_t> sizes{2, 3, 1, 4, 8};
  if (!axis.is_batch) sizes = {base < 16 ? base + 4 : 2 * base, base + 1, 2 * base, 32, 64};
  std::erase(sizes, base);
  return sizes;
}

// With dynamic quantization, scales depend on the whole batch, and so rows depend on each other.
bool quantizes_dynamically(const ModelIndex& index) {
  return std::ranges::any_of(index.graphs(), [](const GraphIndex& graph) {
    return std::ranges::any_of(graph.graph().node(), [](const NodeProto& node) {
      return node.op_type().starts_with("DynamicQuantize");
    });
  });
}

class DeclaredAxes {
 public:
  DeclaredAxes(const ModelIndex& index, const Runs& runs, Runner& runner)
      : index_(index),
        runs_(runs),
        runner_(runner),
        axes_(dynamic_axes(runner.inputs())),
        base_(base_sizes(axes_, runs.samples.front())) {}

  Findings check() {
    Findings findings;
    for (std::size_t i = 0; i < axes_.size(); ++i)
      if (is_plain(axes_[i]) && is_certain(axes_[i]) && !is_parameter(axes_[i]))
        append(findings, check_axis(i));
    return findings;
  }

 private:
  // Whether the axis is the length of a single vector only, such as scales or a bias. It has to fit
  // another tensor, and kernels that do not check would read past its end.
  bool is_parameter(const DynamicAxis& axis) const {
    const auto has_axis = [&](const Dim& dim) { return dim.symbol == axis.name; };
    return axis.places.size() == 1 && runner_.inputs()[axis.places[0].input].shape.size() == 1 &&
           runner_.inputs().size() > 1 &&
           std::ranges::none_of(index_.model().outputs(), [&](const TensorSpec& output) {
             return std::ranges::any_of(output.shape, has_axis);
           });
  }

  // An unnamed axis is only tried if all unnamed axes belong to one input: otherwise it is not
  // known which of them must change together.
  bool is_certain(const DynamicAxis& axis) const {
    std::set<std::size_t> inputs;
    for (const DynamicAxis& other : axes_)
      for (const DynamicAxis::Place& place : other.places)
        if (!other.named) inputs.insert(place.input);
    return axis.named || inputs.size() == 1;
  }

  // An axis is frozen if it accepts no other size, not if it refuses only some.
  Findings check_axis(std::size_t index) {
    std::string error;  // of the first size
    int taken = 0;
    const std::vector<std::int64_t> sizes = other_sizes(axes_[index], base_[index]);
    for (const std::int64_t size : sizes) {
      const Sample inputs = inputs_of(index, size);
      const Trial trial = try_run(runner_, inputs);
      if (trial.ended) return {};  // reported as a finding of its own
      if (error.empty()) error = trial.error;
      if (!trial.outputs) continue;
      Findings findings = judge(index, size, *trial.outputs);
      if (!findings.empty() || ++taken == 2 || !axes_[index].is_batch) return findings;
    }
    const auto together = [&](std::int64_t size) { return runs_with_others(index, size); };
    if (taken > 0 || std::ranges::any_of(sizes, together)) return {};
    const FrozenNode node = find_frozen_node(index_, error, base_[index]);
    Statement evidence{StatementKind::frozen_axis, {axes_[index].name, sizes.front(), node.reason}};
    if (node.reason.kind == StatementKind::none)
      evidence = {StatementKind::failing_axis, {axes_[index].name, sizes.front(), error}};
    return {make_finding("frozen-axis", node.subject, std::move(evidence))};
  }

  bool joins_samples(std::size_t index) const { return axes_[index].is_batch && base_[index] == 1; }

  Sample inputs_of(std::size_t index, std::int64_t size) const {
    if (joins_samples(index)) return join_samples(like_first(runs_.samples, size), axes_[index]);
    std::vector<std::int64_t> sizes = base_;
    sizes[index] = size;
    return drawn(sizes);
  }

  // Checks that outputs follow the axis, and that samples in a batch give the same as each alone.
  Findings judge(std::size_t index, std::int64_t size, const std::vector<Tensor>& outputs) {
    if (auto finding = not_followed(index, size, outputs)) return {*finding};
    if (!joins_samples(index) || !runs_.deterministic || is_time(axes_[index])) return {};
    const DynamicAxis& axis = axes_[index];
    return mixed_rows(axis, single_samples(like_first(runs_.samples, size), axis), outputs);
  }

  // Whether the axis is a time axis: there is a recurrent operator, and an input (its state)
  // without this axis.
  bool is_time(const DynamicAxis& axis) const {
    const auto is_recurrent = [](const NodeProto& node) {
      return is_op(node, "LSTM") || is_op(node, "GRU") || is_op(node, "RNN");
    };
    if (std::ranges::none_of(index_.main().graph().node(), is_recurrent)) return false;
    const auto& inputs = runner_.inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i].shape.size() >= 2 &&
          std::ranges::find(axis.places, i, &DynamicAxis::Place::input) == axis.places.end())
        return true;
    return false;
  }

  // Random inputs of these sizes; those whose shape is unchanged keep the first sample's values.
  Sample drawn(std::span<const std::int64_t> sizes) const {
    const auto& inputs = runner_.inputs();
    Sample sample = draw_inputs(runs_, inputs, shapes_with(inputs, axes_, sizes), 0);
    for (std::size_t i = 0; i < sample.size(); ++i)
      if (sample[i].shape == runs_.samples.front()[i].shape) sample[i] = runs_.samples.front()[i];
    return sample;
  }

  // Lengths of several inputs may have to agree. So they are changed together: all to one size, or
  // two by the same amount (past length and mask length).
  bool runs_with_others(std::size_t index, std::int64_t size) {
    std::vector<std::int64_t> all = base_;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      if (axes_[i].is_batch != axes_[index].is_batch) continue;
      all[i] = size;
      if (i == index) continue;
      std::vector<std::int64_t> two = base_;
      two[index] = size;
      two[i] += size - base_[index];
      if (try_run(runner_, drawn(two)).outputs) return true;
    }
    return try_run(runner_, drawn(all)).outputs.has_value();
  }

  // A finding if an output declares the axis but does not have its size.
  std::optional<Finding> not_followed(std::size_t index, std::int64_t size,
                                      const std::vector<Tensor>& outputs) {
    const std::string& symbol = axes_[index].name;
    for (const TensorSpec& declared : index_.model().outputs()) {
      const auto output = std::ranges::find(outputs, declared.name, &Tensor::name);
      // An empty output means nothing, like the cache of a branch that was not taken.
      if (output == outputs.end() || output->size() == 0 ||
          output->shape.size() != declared.shape.size())
        continue;
      for (std::size_t i = 0; i < declared.shape.size(); ++i)
        if (declared.shape[i].symbol == symbol && output->shape[i] != size &&
            follows_at_first(declared.name, i, base_[index])) {
          const FrozenNode node = find_frozen_node_before(index_, declared.name, base_[index]);
          Statement evidence{StatementKind::frozen_output,
                             {symbol, size, declared.name, output->shape, declared.shape}};
          if (node.reason.kind != StatementKind::none) {
            evidence.kind = StatementKind::frozen_output_node;
            evidence.values.emplace_back(node.reason);
          }
          return make_finding("frozen-axis", node.subject, std::move(evidence));
        }
    }
    return std::nullopt;
  }

  // A cache that stays empty does not have the axis' size even in the first run.
  bool follows_at_first(const std::string& name, std::size_t axis, std::int64_t size) const {
    const auto output = std::ranges::find(runs_.outputs, name, &Tensor::name);
    return output != runs_.outputs.end() && axis < output->shape.size() &&
           output->shape[axis] == size;
  }

  Findings mixed_rows(const DynamicAxis& axis, const std::vector<Sample>& singles,
                      const std::vector<Tensor>& together) {
    const std::int64_t rows = std::ssize(singles);
    for (std::int64_t row = 0; row < rows; ++row) {
      const Trial alone = try_run(runner_, singles[row]);
      if (!alone.outputs) return {};
      for (std::size_t i = 0; i < together.size(); ++i)
        if (auto finding = mixed_row(axis, row, rows, (*alone.outputs)[i], together[i]))
          return {quantizes_dynamically(index_) ? by_design(*std::move(finding)) : *finding};
    }
    return {};
  }

  static Finding by_design(Finding finding) {
    finding.severity = Severity::note;
    finding.evidence.kind = StatementKind::mixed_scales;
    finding.remedy = {StatementKind::deployed_batch};
    return finding;
  }

  static std::optional<Finding> mixed_row(const DynamicAxis& axis, std::int64_t row,
                                          std::int64_t rows, const Tensor& alone,
                                          const Tensor& together) {
    if (alone.shape.empty() || together.shape.size() != alone.shape.size()) return std::nullopt;
    if (together.shape[0] != alone.shape[0] * rows || alone.size() == 0) return std::nullopt;
    const Tensor slice = slice_axis(together, 0, row, rows);
    if (slice.shape != alone.shape) return std::nullopt;
    const double sqnr_db = similarity(alone, slice).sqnr_db;
    if (sqnr_db >= same_rows_db || std::isnan(sqnr_db)) return std::nullopt;
    return make_finding("mixed-batch", {SubjectKind::tensor, alone.name},
                        {StatementKind::mixed_rows, {axis.name, rows, row, sqnr_db}});
  }

  const ModelIndex& index_;
  const Runs& runs_;
  Runner& runner_;
  std::vector<DynamicAxis> axes_;
  std::vector<std::int64_t> base_;
};

}  // namespace

Findings check_declared_axes(const ModelIndex& index, const Runs& runs, Runner& as_written) {
  return DeclaredAxes(index, runs, as_written).check();
}

}  // namespace vernier
