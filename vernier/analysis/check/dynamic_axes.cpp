#include "vernier/analysis/check/groups.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <set>
#include <unordered_set>

#include "vernier/analysis/check/operators.h"
#include "vernier/error.h"
#include "vernier/metrics/similarity.h"

namespace vernier {
namespace {

using vernier_onnx::NodeProto;

// The tensor as [outer][bytes of one step along everything before `axis`].
struct Strides {
  std::int64_t outer = 1;
  std::int64_t bytes = 0;  // of one step of `outer`
};

Strides strides(const Tensor& tensor, std::size_t axis) {
  Strides found;
  for (std::size_t i = 0; i < axis; ++i) found.outer *= tensor.shape[i];
  if (found.outer > 0) found.bytes = std::ssize(tensor.bytes) / found.outer;
  return found;
}

Tensor join(std::span<const Tensor* const> parts, std::size_t axis) {
  Tensor joined{.name = parts[0]->name, .dtype = parts[0]->dtype, .shape = parts[0]->shape};
  joined.shape[axis] = 0;
  for (const Tensor* part : parts) joined.shape[axis] += part->shape[axis];
  for (std::int64_t i = 0; i < strides(*parts[0], axis).outer; ++i)
    for (const Tensor* part : parts) {
      const std::int64_t bytes = strides(*part, axis).bytes;
      const auto begin = part->bytes.begin() + i * bytes;
      joined.bytes.insert(joined.bytes.end(), begin, begin + bytes);
    }
  return joined;
}

const DynamicAxis::Place* place_of(const DynamicAxis& axis, std::size_t input) {
  const auto found = std::ranges::find(axis.places, input, &DynamicAxis::Place::input);
  return found == axis.places.end() ? nullptr : &*found;
}

bool same_shapes(const std::vector<Tensor>& left, const std::vector<Tensor>& right) {
  return std::ranges::equal(left, right, {}, &Tensor::shape, &Tensor::shape);
}

// `count` samples of the first one's shapes: the given ones, again and again.
std::vector<Sample> like_first(std::span<const Sample> samples, std::int64_t count) {
  std::vector<Sample> alike;
  for (std::size_t i = 0; std::ssize(alike) < count; i = (i + 1) % samples.size())
    if (same_shapes(samples[i], samples[0])) alike.push_back(samples[i]);
  return alike;
}

// Samples laid side by side along an axis: what each input has there is joined, inputs without the
// axis are those of the first sample.
Sample join_samples(std::span<const Sample> samples, const DynamicAxis& axis) {
  std::vector<Tensor> joined;
  for (std::size_t input = 0; input < samples[0].size(); ++input) {
    const DynamicAxis::Place* place = place_of(axis, input);
    std::vector<const Tensor*> parts;
    for (const Sample& sample : samples) parts.push_back(&sample[input]);
    joined.push_back(place ? join(parts, place->axis) : samples[0][input]);
  }
  return joined;
}

// The samples one by one, with what they share taken from the first, as join_samples() does.
std::vector<Sample> single_samples(std::span<const Sample> samples, const DynamicAxis& axis) {
  std::vector<Sample> singles(samples.begin(), samples.end());
  for (std::vector<Tensor>& single : singles)
    for (std::size_t input = 0; input < single.size(); ++input)
      if (!place_of(axis, input)) single[input] = samples[0][input];
  return singles;
}

// Part `index` of `parts` along an axis.
Tensor slice_axis(const Tensor& tensor, std::size_t axis, std::int64_t index, std::int64_t parts) {
  Tensor slice{.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape};
  slice.shape[axis] /= parts;
  const auto [outer, bytes] = strides(tensor, axis);
  for (std::int64_t i = 0; i < outer; ++i) {
    const auto begin = tensor.bytes.begin() + i * bytes + index * (bytes / parts);
    slice.bytes.insert(slice.bytes.end(), begin, begin + bytes / parts);
  }
  return slice;
}

// The node that keeps an axis at the size it was traced with.
struct FrozenNode {
  Subject subject;
  std::string reason;  // " in Reshape '/Reshape', whose shape is the constant [1,16]"
};

// As far as it makes sense to look for a cause.
constexpr std::size_t most_nodes = 200;

Shape as_shape(const std::vector<double>& numbers) { return {numbers.begin(), numbers.end()}; }

// The constant target of a Reshape or Expand.
std::optional<Shape> constant_target(const GraphIndex& graph, const NodeProto& node) {
  if (!is_op(node, "Reshape") && !is_op(node, "Expand")) return std::nullopt;
  const auto numbers = graph.numbers(input_name(node, 1));
  return numbers ? std::optional(as_shape(*numbers)) : std::nullopt;
}

// Why a node that failed is itself the cause; empty if it may not be.
std::string own_reason(const GraphIndex& graph, const NodeProto& node) {
  if (const auto target = constant_target(graph, node))
    return fmt::format(" in {} '{}', whose shape is the constant {}", node.op_type(),
                       node_label(node), format_shape(*target));
  for (const std::string& input : node.input()) {
    const auto shape = graph.constant(input) ? graph.declared_shape(input) : std::nullopt;
    if (shape && checked_element_count(*shape).value_or(0) > 1)
      return fmt::format(" in {} '{}', which takes the constant '{}' of shape {}", node.op_type(),
                         node_label(node), input, format_shape(*shape));
  }
  return "";
}

// The nearest Reshape or Expand before the node whose first dimension is the size that works.
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

// From the message of a run that failed. `size` is the one that works.
FrozenNode find_frozen_node(const ModelIndex& index, const std::string& error, std::int64_t size) {
  const FoundNode failed = find_failed_node(index, error);
  FrozenNode frozen{.subject = subject_of_error(index, error)};
  if (failed.node) frozen.reason = own_reason(*failed.graph, *failed.node);
  const bool is_cause =
      !frozen.reason.empty() && !is_op(*failed.node, "Gemm") && !is_op(*failed.node, "MatMul");
  if (failed.node && !is_cause)
    if (const NodeProto* cause = frozen_before(*failed.graph, failed.node, size)) {
      frozen.subject = node_subject(*failed.graph, *cause);
      frozen.reason = own_reason(*failed.graph, *cause);
    }
  if (frozen.reason.empty()) frozen.reason = ": " + error;
  return frozen;
}

// From an output that does not follow its input.
FrozenNode find_frozen_node_before(const ModelIndex& index, const std::string& output,
                                   std::int64_t size) {
  const GraphIndex& graph = index.main();
  const NodeProto* cause = frozen_before(graph, graph.producer(output), size);
  if (!cause) return {.subject = {SubjectKind::tensor, output}};
  return {.subject = node_subject(graph, *cause), .reason = ":" + own_reason(graph, *cause)};
}

// From how many decibels on two rows count as the same: kernels differ a little with the batch, and
// quantized models round what is on the edge another way.
constexpr double same_rows_db = 20;

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

// Sizes to try in turn. Doubling keeps what lengths have to be divisible by; images often have to
// be multiples of 32.
std::vector<std::int64_t> other_sizes(const DynamicAxis& axis, std::int64_t base) {
  std::vector<std::int64_t> sizes{2, 3, 1, 4, 8};
  if (!axis.is_batch) sizes = {base < 16 ? base + 4 : 2 * base, base + 1, 2 * base, 32, 64};
  std::erase(sizes, base);
  return sizes;
}

// Scales that are computed from the whole batch make rows depend on each other by design.
bool quantizes_dynamically(const ModelIndex& index) {
  return std::ranges::any_of(index.graphs(), [](const GraphIndex& graph) {
    return std::ranges::any_of(graph.graph().node(), [](const NodeProto& node) {
      return node.op_type().starts_with("DynamicQuantize");
    });
  });
}

class DeclaredAxes {
 public:
  DeclaredAxes(const ModelIndex& index, const Runs& runs, OrtRunner& runner)
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
  // The length of one vector, and of nothing else: scales or a bias. It has to fit what it is
  // applied to, and kernels that do not look read past its end.
  bool is_parameter(const DynamicAxis& axis) const {
    const auto has_axis = [&](const Dim& dim) { return dim.symbol == axis.name; };
    return axis.places.size() == 1 && runner_.inputs()[axis.places[0].input].shape.size() == 1 &&
           runner_.inputs().size() > 1 &&
           std::ranges::none_of(index_.model().outputs(), [&](const TensorSpec& output) {
             return std::ranges::any_of(output.shape, has_axis);
           });
  }

  // Which unnamed axes of several inputs go together is not known.
  bool is_certain(const DynamicAxis& axis) const {
    std::set<std::size_t> inputs;
    for (const DynamicAxis& other : axes_)
      for (const DynamicAxis::Place& place : other.places)
        if (!other.named) inputs.insert(place.input);
    return axis.named || inputs.size() == 1;
  }

  // Frozen is an axis that takes no other size; one that refuses some of them is not.
  Findings check_axis(std::size_t index) {
    std::string error;  // of the first size
    int taken = 0;
    const std::vector<std::int64_t> sizes = other_sizes(axes_[index], base_[index]);
    for (const std::int64_t size : sizes) {
      const Sample inputs = inputs_of(index, size);
      const Trial trial = try_run(runner_, inputs);
      if (error.empty()) error = trial.error;
      if (!trial.outputs) continue;
      Findings findings = judge(index, size, *trial.outputs);
      if (!findings.empty() || ++taken == 2 || !axes_[index].is_batch) return findings;
    }
    const auto together = [&](std::int64_t size) { return runs_with_others(index, size); };
    if (taken > 0 || std::ranges::any_of(sizes, together)) return {};
    const FrozenNode node = find_frozen_node(index_, error, base_[index]);
    return {make_finding("frozen-axis", node.subject,
                         fmt::format("'{}' is declared dynamic, but size {} fails{}",
                                     axes_[index].name, sizes.front(), node.reason))};
  }

  bool joins_samples(std::size_t index) const { return axes_[index].is_batch && base_[index] == 1; }

  Sample inputs_of(std::size_t index, std::int64_t size) const {
    if (joins_samples(index)) return join_samples(like_first(runs_.samples, size), axes_[index]);
    std::vector<std::int64_t> sizes = base_;
    sizes[index] = size;
    return drawn(sizes);
  }

  // Several samples at once must come out as they do alone.
  Findings judge(std::size_t index, std::int64_t size, const std::vector<Tensor>& outputs) {
    if (auto finding = not_followed(index, size, outputs)) return {*finding};
    if (!joins_samples(index) || !runs_.deterministic) return {};
    const DynamicAxis& axis = axes_[index];
    return mixed_rows(axis, single_samples(like_first(runs_.samples, size), axis), outputs);
  }

  // Inputs of these sizes; those that have not changed keep their values, which may be given ones.
  Sample drawn(std::span<const std::int64_t> sizes) const {
    const auto& inputs = runner_.inputs();
    Sample sample = draw_inputs(runs_, inputs, shapes_with(inputs, axes_, sizes), 0);
    for (std::size_t i = 0; i < sample.size(); ++i)
      if (sample[i].shape == runs_.samples.front()[i].shape) sample[i] = runs_.samples.front()[i];
    return sample;
  }

  // Lengths of several inputs may have to agree: then they can only change together, all to one
  // size or two by as much (what is past and what a mask covers).
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

  // An output that declares the axis and does not have its size.
  std::optional<Finding> not_followed(std::size_t index, std::int64_t size,
                                      const std::vector<Tensor>& outputs) {
    const std::string& symbol = axes_[index].name;
    for (const TensorSpec& declared : index_.model().outputs()) {
      const auto output = std::ranges::find(outputs, declared.name, &Tensor::name);
      if (output == outputs.end() || output->shape.size() != declared.shape.size()) continue;
      for (std::size_t i = 0; i < declared.shape.size(); ++i)
        if (declared.shape[i].symbol == symbol && output->shape[i] != size &&
            follows_at_first(declared.name, i, base_[index])) {
          const FrozenNode node = find_frozen_node_before(index_, declared.name, base_[index]);
          return make_finding(
              "frozen-axis", node.subject,
              fmt::format("with '{}' of {}, output '{}' has the shape {} and is declared {}{}",
                          symbol, size, declared.name, format_shape(output->shape),
                          format_shape(declared.shape), node.reason));
        }
    }
    return std::nullopt;
  }

  // A cache that stays empty does not have the size of its axis to begin with.
  bool follows_at_first(const std::string& name, std::size_t axis, std::int64_t size) const {
    const auto output = std::ranges::find(runs_.outputs, name, &Tensor::name);
    return output != runs_.outputs.end() && axis < output->shape.size() &&
           output->shape[axis] == size;
  }

  Findings mixed_rows(const DynamicAxis& axis, const std::vector<Sample>& singles,
                      const std::vector<Tensor>& together) {
    for (std::size_t row = 0; row < singles.size(); ++row) {
      const Trial alone = try_run(runner_, singles[row]);
      if (!alone.outputs) return {};
      for (std::size_t i = 0; i < together.size(); ++i)
        if (auto finding = mixed_row(axis, row, singles.size(), (*alone.outputs)[i], together[i]))
          return {quantizes_dynamically(index_) ? by_design(*std::move(finding)) : *finding};
    }
    return {};
  }

  static Finding by_design(Finding finding) {
    finding.severity = Severity::note;
    finding.evidence += "; dynamic quantization takes its scales from the whole batch";
    finding.remedy = "Evaluate with the batch that is deployed.";
    return finding;
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

  const ModelIndex& index_;
  const Runs& runs_;
  OrtRunner& runner_;
  std::vector<DynamicAxis> axes_;
  std::vector<std::int64_t> base_;
};

// The model with an axis of its inputs opened, and nothing else said about shapes.
std::unique_ptr<OrtRunner> open_axis(const Model& model, const DynamicAxis& axis,
                                     OrtOptions options) {
  options.optimization = Optimization::disabled;
  Model opened = model.clone();
  vernier_onnx::GraphProto& graph = opened.graph();
  const std::vector<TensorSpec> inputs = model.inputs();
  for (const DynamicAxis::Place& place : axis.places)
    for (auto& input : *graph.mutable_input())
      if (input.name() == inputs[place.input].name)
        input.mutable_type()
            ->mutable_tensor_type()
            ->mutable_shape()
            ->mutable_dim(static_cast<int>(place.axis))
            ->set_dim_param(axis.name);
  graph.clear_value_info();
  for (auto& output : *graph.mutable_output())
    if (output.type().has_tensor_type())
      output.mutable_type()->mutable_tensor_type()->clear_shape();
  try {
    return std::make_unique<OrtRunner>(std::move(opened), options);
  } catch (const Error&) {
    return nullptr;
  }
}

// Whether the first half of a doubled batch gives what it gave alone.
bool doubles(const std::vector<Tensor>& alone, const std::vector<Tensor>& together) {
  for (std::size_t i = 0; i < alone.size(); ++i) {
    const Tensor& output = together[i];
    if (output.shape.empty() || output.shape.size() != alone[i].shape.size() ||
        output.shape[0] != 2 * alone[i].shape[0])
      return false;
    const Tensor half = slice_axis(output, 0, 0, 2);
    if (half.shape != alone[i].shape || similarity(alone[i], half).sqnr_db < same_rows_db)
      return false;
  }
  return !alone.empty();
}

// Kernels of ONNX Runtime's own operators trust the declared sizes.
bool has_runtime_operators(const ModelIndex& index) {
  return std::ranges::any_of(index.graphs(), [](const GraphIndex& graph) {
    return std::ranges::any_of(graph.graph().node(), [](const NodeProto& node) {
      return is_runtime_domain(node.domain()) && !node.op_type().ends_with("quantizeLinear") &&
             !node.op_type().ends_with("QuantizeLinear");
    });
  });
}

// Axis 0 of every input that has at least two, if all are of one fixed size.
std::optional<DynamicAxis> fixed_batch(const std::vector<TensorSpec>& inputs) {
  DynamicAxis axis{.name = "batch", .is_batch = true};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].shape.size() < 2) continue;
    if (inputs[i].shape[0].is_dynamic()) return std::nullopt;
    axis.places.push_back({i, 0});
    if (inputs[i].shape[0] != inputs[axis.places[0].input].shape[0]) return std::nullopt;
  }
  return axis.places.empty() ? std::nullopt : std::optional(axis);
}

Findings try_fixed_batch(const ModelIndex& index, const Runs& runs, const CheckOptions& options) {
  const std::vector<TensorSpec> inputs = index.model().inputs();
  const std::optional<DynamicAxis> axis = fixed_batch(inputs);
  if (!axis) return {};
  const auto runner = open_axis(index.model(), *axis, options.runtime);
  if (!runner) return {};
  const std::vector<Sample> samples = like_first(runs.samples, 2);
  const Trial alone = try_run(*runner, samples[0]);
  const Trial together = try_run(*runner, join_samples(samples, *axis));
  if (!alone.outputs || !together.outputs || !doubles(*alone.outputs, *together.outputs)) return {};
  const TensorSpec& input = inputs[axis->places[0].input];
  const std::int64_t size = input.shape[0].size;
  return {make_finding(
      "fixed-batch", {SubjectKind::tensor, input.name},
      fmt::format("its batch is declared as {}, and the graph runs with {} too", size, 2 * size))};
}

// Axis 1 of ids [batch, length] and of features [batch, length, size], if all are of one size.
std::optional<DynamicAxis> fixed_sequence(const std::vector<TensorSpec>& inputs) {
  DynamicAxis axis{.name = "sequence"};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto& shape = inputs[i].shape;
    const bool is_sequence = (is_integer(inputs[i].dtype) && shape.size() == 2) ||
                             (is_float(inputs[i].dtype) && shape.size() == 3);
    if (!is_sequence || shape[1].size < 4) continue;
    axis.places.push_back({i, 1});
    if (shape[1] != inputs[axis.places[0].input].shape[1]) return std::nullopt;
  }
  return axis.places.empty() ? std::nullopt : std::optional(axis);
}

Findings try_fixed_sequence(const ModelIndex& index, const Runs& runs,
                            const CheckOptions& options) {
  const std::vector<TensorSpec> inputs = index.model().inputs();
  const std::optional<DynamicAxis> axis = fixed_sequence(inputs);
  const auto runner = axis ? open_axis(index.model(), *axis, options.runtime) : nullptr;
  if (!runner) return {};
  std::map<std::string, Shape> shapes;
  for (const Tensor& tensor : runs.samples.front()) shapes[tensor.name] = tensor.shape;
  const TensorSpec& input = inputs[axis->places[0].input];
  const std::int64_t length = input.shape[1].size;
  for (const DynamicAxis::Place& place : axis->places)
    shapes[inputs[place.input].name][1] = length / 2;
  const Trial trial = try_run(*runner, draw_inputs(runs, runner->inputs(), shapes, 0));
  if (!trial.outputs) return {};
  return {make_finding("fixed-sequence", {SubjectKind::tensor, input.name},
                       fmt::format("its length is declared as {}, and the graph runs with {} too",
                                   length, length / 2))};
}

}  // namespace

Findings check_declared_axes(const ModelIndex& index, const Runs& runs, OrtRunner& as_written) {
  return DeclaredAxes(index, runs, as_written).check();
}

Findings check_fixed_axes(const ModelIndex& index, const Runs& runs, const CheckOptions& options) {
  if (has_runtime_operators(index)) return {};
  Findings findings = try_fixed_batch(index, runs, options);
  append(findings, try_fixed_sequence(index, runs, options));
  return findings;
}

}  // namespace vernier
