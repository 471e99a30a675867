#include "vernier/model/input_uses.h"

#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>

#include "vernier/error.h"
#include "vernier/model/graph.h"
#include "vernier/model/onnx_type.h"
#include "vernier/model/operator_uses.h"
#include "vernier/model/quantizer.h"
#include "vernier/model/tensor_data.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using Nodes = google::protobuf::RepeatedPtrField<NodeProto>;

// The position on a tensor's last axis at which the elements of an input begin.
struct Place {
  std::optional<std::int64_t> column = 0;  // nullopt if unknown
};

// What is known about a tensor.
struct Value {
  std::map<std::string, Place> sources;  // inputs whose elements it may hold, unchanged
  std::set<std::string> signals;         // inputs it is computed from without weighted operators
  std::optional<Shape> dims;             // -1 for an unknown dim
  // The constant whose elements the tensor holds, reshaped or cast; null if there is none.
  const TensorProto* stored = nullptr;
  // What dequantizes `stored`: a scale and a zero point, each null if there is none.
  const TensorProto *scale = nullptr, *zero_point = nullptr;
  bool constant = false;  // computed from weights alone
};

// The names visible in a graph: its own, then those of the enclosing graph.
class Scope {
 public:
  explicit Scope(const Scope* outer = nullptr) : outer_(outer) {}
  Value& define(const std::string& name) { return values_[name]; }
  Value find(const std::string& name) const {
    const auto own = values_.find(name);
    if (own != values_.end()) return own->second;
    return outer_ ? outer_->find(name) : Value{};
  }

 private:
  const Scope* outer_;
  std::unordered_map<std::string, Value> values_;
};
using Declared = std::unordered_map<std::string, Shape>;

// Whether the numbers are n, n + 1, n + 2..., at least three of them.
bool counts_up(const std::vector<double>& numbers) {
  for (std::size_t i = 1; i < numbers.size(); ++i)
    if (numbers[i] != numbers[i - 1] + 1) return false;
  return numbers.size() >= 3;
}

// The intersection; the first interval if they are disjoint.
Interval intersection(const std::optional<Interval>& first, const Interval& second) {
  if (!first) return second;
  const Interval both{std::max(first->low, second.low), std::min(first->high, second.high)};
  return both.low <= both.high ? both : *first;
}

class InputTracker {
 public:
  explicit InputTracker(const Model& model) : model_(model) {}

  std::vector<InputUses> uses() {
    Scope scope;
    const std::vector<TensorSpec> inputs = model_.inputs();
    for (const TensorSpec& input : inputs) {
      Value& value = scope.define(input.name);
      value.sources[input.name];
      value.signals = {input.name};
      integers_[input.name] = !is_float(input.dtype);
      if (!input.shape.empty() && !input.shape.back().is_dynamic())
        widths_[input.name] = input.shape.back().size;
    }
    const std::vector<Value> outputs = walk_graph(model_.graph(), scope);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      for (const auto& [source, place] : outputs[i].sources)
        uses_[source].moved_to.insert(model_.graph().output(static_cast<int>(i)).name());
    std::vector<InputUses> uses;
    for (const TensorSpec& input : inputs) uses.push_back(std::move(uses_[input.name]));
    return uses;
  }

 private:
  // Limits on nesting and on visited nodes, far above any real model, against malicious files.
  static constexpr int most_depth = 32;
  static constexpr int most_nodes = 1'000'000;

  std::vector<Value> walk_graph(const GraphProto& graph, Scope& scope) {
    for (const auto& tensor : graph.initializer())
      scope.define(tensor.name()) = {.dims = dims_of(tensor), .stored = &tensor, .constant = true};
    Declared declared;
    for (const auto* infos : {&graph.input(), &graph.value_info(), &graph.output()})
      for (const auto& info : *infos)
        if (auto shape = declared_shape(info)) declared[info.name()] = *std::move(shape);
    for (const auto& input : graph.input()) declare(input.name(), declared, scope);
    walk_nodes(graph.node(), declared, scope);
    std::vector<Value> outputs;
    for (const auto& output : graph.output()) outputs.push_back(scope.find(output.name()));
    return outputs;
  }

  static void declare(const std::string& name, const Declared& declared, Scope& scope) {
    const auto dims = declared.find(name);
    Value& value = scope.define(name);
    if (dims != declared.end() && !value.dims) value.dims = dims->second;
  }

  void walk_nodes(const Nodes& nodes, const Declared& declared, Scope& scope) {
    for (const auto& node : nodes) {
      if (++nodes_ > most_nodes) return;
      std::vector<Value> inputs;
      for (const std::string& name : node.input()) inputs.push_back(scope.find(name));
      note_indices(node, inputs);
      note_numbers(node, inputs);
      note_first_operator(node, inputs);
      std::vector<Value> outputs = walk_inside(node, inputs, scope);
      outputs.resize(node.output_size(), simple_output(node, inputs));
      place_caches(node, inputs, outputs);
      for (int i = 0; i < node.output_size(); ++i) {
        scope.define(node.output(i)) = std::move(outputs[i]);
        declare(node.output(i), declared, scope);
      }
    }
  }

  // The outputs of a node that has subgraphs or calls a local function; empty for other nodes.
  std::vector<Value> walk_inside(const NodeProto& node, const std::vector<Value>& inputs,
                                 const Scope& scope) {
    std::vector<Value> outputs;
    if (depth_ == most_depth) return outputs;
    ++depth_;
    for (const auto& attribute : node.attribute())
      if (attribute.has_g()) merge(outputs, walk_subgraph(node, attribute.g(), inputs, scope));
    for (const auto& function : model_.proto().functions())
      if (is_op(node, function.name(), function.domain()))
        outputs = walk_function(function, inputs);
    --depth_;
    return outputs;
  }

  std::vector<Value> walk_subgraph(const NodeProto& node, const GraphProto& subgraph,
                                   const std::vector<Value>& inputs, const Scope& outer) {
    // Shapes are dropped: Scan slices its inputs, and a Loop-carried tensor may change its shape.
    Scope scope(&outer);
    for (int i = 0; i < std::min<int>(subgraph.input_size(), std::ssize(inputs)); ++i)
      scope.define(subgraph.input(i).name()) = {.sources = inputs[i].sources,
                                                .signals = inputs[i].signals};
    std::vector<Value> outputs = walk_graph(subgraph, scope);
    for (Value& output : outputs) output.dims.reset();
    const bool leads_with_condition = is_op(node, "Loop") && !outputs.empty();
    if (leads_with_condition) outputs.erase(outputs.begin());
    return outputs;
  }

  std::vector<Value> walk_function(const FunctionProto& function,
                                   const std::vector<Value>& inputs) {
    Scope scope;
    for (int i = 0; i < std::min<int>(function.input_size(), std::ssize(inputs)); ++i)
      scope.define(function.input(i)) = inputs[i];
    walk_nodes(function.node(), {}, scope);
    std::vector<Value> outputs;
    for (const std::string& name : function.output()) outputs.push_back(scope.find(name));
    return outputs;
  }

  static void merge(std::vector<Value>& into, const std::vector<Value>& from) {
    into.resize(std::max(into.size(), from.size()));
    for (std::size_t i = 0; i < from.size(); ++i) {
      into[i].sources.insert(from[i].sources.begin(), from[i].sources.end());
      into[i].signals.insert(from[i].signals.begin(), from[i].signals.end());
    }
  }

  Value simple_output(const NodeProto& node, const std::vector<Value>& inputs) const {
    Value output;
    for (const auto& carrier : operator_uses::carriers) {
      if (!is_op(node, carrier.op_type)) continue;
      for (int i = carrier.first; i <= carrier.last && i < static_cast<int>(inputs.size()); ++i)
        output.sources.insert(inputs[i].sources.begin(), inputs[i].sources.end());
    }
    if (is_op(node, "Imputer", "ai.onnx.ml") && !inputs.empty()) output.sources = inputs[0].sources;
    place_elements(node, inputs, output);
    if (is_one_of(node, operator_uses::same_shape) && !inputs.empty()) output.dims = inputs[0].dims;
    if (!is_op(node, "Shape") && !is_op(node, "Size") && !is_weighted(node, inputs))
      for (const Value& input : inputs)
        output.signals.insert(input.signals.begin(), input.signals.end());
    add_constant(node, inputs, output);
    return output;
  }

  static void place_caches(const NodeProto& node, const std::vector<Value>& inputs,
                           std::vector<Value>& outputs) {
    for (const auto& use : operator_uses::cache_uses)
      if (is_op(node, use.op_type, use.domain) && use.past < std::ssize(inputs) &&
          use.present < std::ssize(outputs))
        outputs[use.present].sources = inputs[use.past].sources;
  }

  // Sets the column at which the elements of each source begin.
  void place_elements(const NodeProto& node, const std::vector<Value>& inputs,
                      Value& output) const {
    constexpr std::array<std::string_view, 4> keep = {"Reshape", "Squeeze", "Unsqueeze", "Imputer"};
    if (is_op(node, "Concat") && joins_columns(node, inputs)) return place_columns(inputs, output);
    if (is_op(node, "Gather") && inputs.size() == 2) return pick_columns(node, inputs, output);
    if (!is_one_of(node, operator_uses::same_shape) && !is_one_of(node, keep))
      for (auto& [source, place] : output.sources) place.column.reset();
  }

  static bool joins_columns(const NodeProto& node, const std::vector<Value>& inputs) {
    const std::int64_t axis = attribute_int(node, "axis", 0);
    return axis == -1 ||
           (!inputs.empty() && inputs[0].dims && axis == std::ssize(*inputs[0].dims) - 1);
  }

  // A Concat appends its inputs; columns are known up to the first input of unknown width.
  static void place_columns(const std::vector<Value>& inputs, Value& output) {
    std::optional<std::int64_t> begin = 0;
    for (const Value& input : inputs) {
      for (const auto& [source, place] : input.sources) {
        output.sources[source].column.reset();
        if (begin && place.column) output.sources[source].column = *begin + *place.column;
      }
      const bool known = input.dims && !input.dims->empty() && input.dims->back() >= 0;
      begin = begin && known ? std::optional(*begin + input.dims->back()) : std::nullopt;
    }
  }

  // A Gather of one column holds elements only of the input to which the column belongs.
  void pick_columns(const NodeProto& node, const std::vector<Value>& inputs, Value& output) const {
    const auto index = numbers_of(inputs[1]);
    const bool one = index && index->size() == 1 && attribute_int(node, "axis", 0) == 1;
    std::map<std::string, Place> sources = std::move(output.sources);
    output.sources.clear();
    for (auto& [source, place] : sources) {
      const auto width = widths_.find(source);
      const bool placed = one && place.column && width != widths_.end();
      const double column = placed ? index->front() - static_cast<double>(*place.column) : 0;
      if (column < 0 || (placed && column >= static_cast<double>(width->second))) continue;
      output.sources[source].column.reset();
      if (placed && width->second == 1) output.sources[source].column = 0;
    }
  }

  static void add_constant(const NodeProto& node, const std::vector<Value>& inputs, Value& output) {
    constexpr std::array<std::string_view, 8> keep = {"Identity",  "Cast",    "CastLike", "Reshape",
                                                      "Unsqueeze", "Squeeze", "Expand",   "Tile"};
    if (is_op(node, "Constant")) {
      output.constant = true;
      if (const auto* value = attribute(node, "value")) {
        output.dims = dims_of(value->t());
        output.stored = &value->t();
      }
      return;
    }
    output.constant = !inputs.empty() && std::ranges::all_of(inputs, &Value::constant);
    if (is_one_of(node, keep) && !inputs.empty()) {
      output.stored = inputs[0].stored;
      output.scale = inputs[0].scale;
      output.zero_point = inputs[0].zero_point;
    }
    if (is_op(node, "DequantizeLinear") && inputs.size() >= 2 && inputs[1].stored) {
      output.stored = inputs[0].stored;
      output.scale = inputs[1].stored;
      output.zero_point = inputs.size() > 2 ? inputs[2].stored : nullptr;
    }
  }

  static bool is_weighted(const NodeProto& node, const std::vector<Value>& inputs) {
    if (is_one_of(node, operator_uses::convolutions) || is_op(node, "STFT")) return true;
    return is_one_of(node, operator_uses::products) &&
           std::ranges::any_of(inputs, &Value::constant);
  }

  // The elements of a constant; nullopt if there are more than `most` or they cannot be read.
  std::optional<std::vector<double>> numbers_of(const Value& value) const {
    constexpr std::int64_t most = 100'000;
    if (!value.stored) return std::nullopt;
    const std::optional<std::int64_t> count = checked_element_count(dims_of(*value.stored));
    if (!count || *count > most) return std::nullopt;
    try {
      const Tensor stored = model_.tensor(*value.stored);
      return value.scale ? dequantized(stored, value) : to_f64(stored);
    } catch (const Error&) {
      return std::nullopt;
    }
  }

  // nullopt unless there is one scale.
  std::optional<std::vector<double>> dequantized(const Tensor& stored, const Value& value) const {
    const std::vector<double> scale = to_f64(model_.tensor(*value.scale));
    const std::vector<double> zero =
        value.zero_point ? to_f64(model_.tensor(*value.zero_point)) : std::vector<double>{0};
    if (scale.size() != 1 || zero.size() != 1) return std::nullopt;
    std::vector<double> numbers = to_f64(stored);
    for (double& number : numbers) number = (number - zero[0]) * scale[0];
    return numbers;
  }

  void note_indices(const NodeProto& node, const std::vector<Value>& inputs) {
    const auto input = [&](int i) { return i < std::ssize(inputs) ? inputs[i] : Value{}; };
    for (const auto& use : operator_uses::index_uses)
      if (is_op(node, use.op_type, use.domain))
        note(input(use.indices), input(use.data),
             use.axis_attribute.empty() ? 0 : attribute_int(node, use.axis_attribute, 0));
    if (is_op(node, "GatherND"))
      note_tuples(input(1), input(0), attribute_int(node, "batch_dims", 0));
  }

  // GatherND: each index is a tuple over the axes from `first` on; the last dim of `indices` is the
  // length of a tuple.
  void note_tuples(const Value& indices, const Value& data, std::int64_t first) {
    if (!data.dims) return;
    const std::int64_t rank = std::ssize(*data.dims);
    const bool known = indices.dims && !indices.dims->empty() && indices.dims->back() > 0;
    const std::int64_t end = known ? std::min(first + indices.dims->back(), rank) : rank;
    for (std::int64_t axis = first; axis < end; ++axis) note(indices, data, axis);
  }

  void note(const Value& indices, const Value& data, std::int64_t axis) {
    if (!data.dims) return;
    const std::int64_t rank = std::ssize(*data.dims);
    if (axis < 0) axis += rank;
    if (axis < 0 || axis >= rank || (*data.dims)[axis] < 1) return;
    for (const auto& [source, place] : indices.sources) {
      std::optional<std::int64_t>& length = uses_[source].index_length;
      length = std::min(length.value_or((*data.dims)[axis]), (*data.dims)[axis]);
    }
  }

  // Calls change(uses) for each input whose elements the value holds, optionally only for inputs
  // that are not float.
  template <typename Change>
  void change_uses(const Value& value, bool integers_only, const Change& change) {
    for (const auto& [source, place] : value.sources)
      if (!integers_only || integers_[source]) change(uses_[source]);
  }

  void note_numbers(const NodeProto& node, const std::vector<Value>& inputs) {
    if (inputs.empty()) return;
    const auto mark = [&](const Value& value, bool InputUses::*use) {
      change_uses(value, true, [&](InputUses& uses) { uses.*use = true; });
    };
    for (const auto& use : operator_uses::length_uses)
      for (std::size_t i = use.first; is_op(node, use.op_type) && i < inputs.size(); ++i)
        mark(inputs[i], &InputUses::length);
    for (const auto& use : operator_uses::fused_uses)
      if (is_op(node, use.op_type, use.domain) && use.input < std::ssize(inputs))
        mark(inputs[use.input], use.use);
    if (inputs.size() >= 2) note_pair(node, inputs[0], inputs[1]);
    if (is_op(node, "Where") || is_op(node, "Not")) mark(inputs[0], &InputUses::mask);
    if (is_op(node, "ReduceSum") || is_op(node, "CumSum")) mark(inputs[0], &InputUses::mask);
    if (is_op(node, "If")) mark(inputs[0], &InputUses::condition);
    if (is_op(node, "Cast")) note_cast(attribute_int(node, "to", 0), inputs[0]);
    if (is_op(node, "QuantizeLinear")) note_quantizer(inputs);
    if (is_op(node, "LSTM") || is_op(node, "GRU") || is_op(node, "RNN"))
      for (std::size_t i = 5; i < std::min<std::size_t>(inputs.size(), 7); ++i)
        change_uses(inputs[i], false, [](InputUses& uses) { uses.state = true; });
    note_features(node, inputs[0]);
  }

  // Notes uses by operators with two operands.
  void note_pair(const NodeProto& node, const Value& first, const Value& second) {
    constexpr std::array<std::string_view, 5> comparisons = {"Equal", "Less", "LessOrEqual",
                                                             "Greater", "GreaterOrEqual"};
    const auto mask = [&](const Value& value) {
      change_uses(value, true, [](InputUses& uses) { uses.mask = true; });
    };
    if (is_op(node, "And") || is_op(node, "Or")) {
      mask(first);
      mask(second);
    }
    if (is_op(node, "Sub") && is_one(first)) mask(second);
    if (is_op(node, "OneHot"))
      if (const auto depth = numbers_of(second); depth && depth->size() == 1)
        note_range(first, {0, depth->front() - 1});
    if (!is_one_of(node, comparisons)) return;
    note_comparison(first, second, is_op(node, "Equal"));
    note_comparison(second, first, is_op(node, "Equal"));
  }

  // Also if rounded to 8 bits.
  bool is_one(const Value& value) const {
    constexpr double rounding = 1.0 / 128;
    const auto numbers = numbers_of(value);
    return numbers && numbers->size() == 1 && std::abs(numbers->front() - 1) <= rounding;
  }

  void note_comparison(const Value& value, const Value& with, bool equal) {
    if (value.sources.empty()) return;
    const auto numbers = numbers_of(with);
    // Computed from shapes alone: `with` holds the positions of a sequence, and `value` limits how
    // many of them are valid.
    if (!equal && !with.constant && with.sources.empty() && with.signals.empty())
      change_uses(value, true, [](InputUses& uses) { uses.counted_to = true; });
    if (!numbers || numbers->empty()) return;
    if (counts_up(*numbers)) return note_range(value, {numbers->front(), numbers->back()});
    if (numbers->size() != 1) return;
    const double number = numbers->front();
    if (number == 0 || (equal && number == 1))
      change_uses(value, true, [](InputUses& uses) { uses.truth = true; });
    if (equal) change_uses(value, true, [&](InputUses& uses) { uses.choices.insert(number); });
  }

  void note_range(const Value& value, const Interval& range) {
    if (range.low > range.high) return;
    change_uses(value, true,
                [&](InputUses& uses) { uses.range = intersection(uses.range, range); });
  }

  void note_cast(std::int64_t to, const Value& value) {
    const std::optional<DType> dtype = dtype_of_onnx(static_cast<int>(to));
    if (dtype == DType::boolean)
      change_uses(value, true, [](InputUses& uses) { uses.mask = true; });
    if (dtype && is_float(*dtype))
      change_uses(value, true, [](InputUses& uses) { uses.number = true; });
  }

  void note_quantizer(const std::vector<Value>& inputs) {
    if (inputs.size() < 2 || inputs[0].sources.empty()) return;
    const auto scale = numbers_of(inputs[1]);
    if (!scale || scale->size() != 1) return;
    const auto zero = inputs.size() > 2 ? numbers_of(inputs[2]) : std::vector<double>{0};
    const std::optional<DType> dtype = inputs.size() > 2 && inputs[2].stored
                                           ? dtype_of_onnx(inputs[2].stored->data_type())
                                           : std::optional(DType::u8);
    if (!zero || zero->size() != 1 || !dtype || is_float(*dtype)) return;
    const StoredRange stored = stored_range(*dtype);
    const Interval range{(stored.low - zero->front()) * scale->front(),
                         (stored.high - zero->front()) * scale->front()};
    change_uses(inputs[0], false, [&](InputUses& uses) {
      if (!uses.quantized) uses.quantized = range;
    });
  }

  // ai.onnx.ml: the categories, means and deviations of features.
  void note_features(const NodeProto& node, const Value& value) {
    if (is_op(node, "OneHotEncoder", "ai.onnx.ml"))
      for (const std::int64_t category : attribute_ints(node, "cats_int64s"))
        change_uses(value, false,
                    [&](InputUses& uses) { uses.choices.insert(static_cast<double>(category)); });
    if (!is_op(node, "Scaler", "ai.onnx.ml")) return;
    const std::vector<double> offsets = attribute_floats(node, "offset");
    const std::vector<double> scales = attribute_floats(node, "scale");
    for (const auto& [source, place] : value.sources) {
      if (!place.column && (offsets.size() > 1 || scales.size() > 1)) continue;
      InputUses& uses = uses_[source];
      uses.means = feature_values(offsets, place, source);
      for (const double scale : feature_values(scales, place, source))
        uses.deviations.push_back(scale != 0 ? 1 / scale : 0);
    }
  }

  static std::vector<double> attribute_floats(const NodeProto& node, std::string_view name) {
    const auto* found = attribute(node, name);
    if (!found) return {};
    return {found->floats().begin(), found->floats().end()};
  }

  // The part of `values`, one per feature, that belongs to the input; a single value fits all.
  std::vector<double> feature_values(const std::vector<double>& values, const Place& place,
                                     const std::string& source) const {
    if (values.size() <= 1) return values;
    const auto width = widths_.find(source);
    if (width == widths_.end()) return {};
    const std::int64_t end = *place.column + width->second;
    if (end > std::ssize(values)) return {};
    return {values.begin() + *place.column, values.begin() + end};
  }

  void note_first_operator(const NodeProto& node, const std::vector<Value>& inputs) {
    if (inputs.empty() || !is_weighted(node, inputs)) return;
    const std::size_t weight = node.op_type() == "QLinearConv" ? 3 : 1;
    const bool convolves = is_one_of(node, operator_uses::convolutions);
    const auto rank = convolves && weight < inputs.size() && inputs[weight].dims
                          ? std::ssize(*inputs[weight].dims)
                          : 0;
    FirstOperator kind = FirstOperator::other;
    if (is_op(node, "STFT") || rank == 3) kind = FirstOperator::convolution_1d;
    if (rank == 4) kind = FirstOperator::convolution_2d;
    for (const Value& input : inputs)
      for (const std::string& signal : input.signals)
        if (InputUses& uses = uses_[signal]; uses.first == FirstOperator::none) uses.first = kind;
  }

  const Model& model_;
  std::map<std::string, InputUses> uses_;
  std::map<std::string, bool> integers_;
  std::map<std::string, std::int64_t> widths_;  // last dims of inputs, if static
  int depth_ = 0;
  int nodes_ = 0;
};

}  // namespace

std::vector<InputUses> input_uses(const Model& model) { return InputTracker(model).uses(); }

}  // namespace vernier
