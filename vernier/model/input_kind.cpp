#include "vernier/model/input_kind.h"

#include <algorithm>
#include <optional>

#include "vernier/model/input_uses.h"

namespace vernier {
namespace {

bool is_side(const Dim& dim) { return dim.is_dynamic() || dim.size >= 16; }
bool are_channels(const Dim& dim) { return dim.size == 1 || dim.size == 3 || dim.size == 4; }

// For an input with the dims of an image: whether channels are last. nullopt for other inputs.
std::optional<bool> channels_last(const TensorSpec& input) {
  const std::vector<Dim>& dims = input.shape;
  if (dims.size() != 4 || !(is_float(input.dtype) || input.dtype == DType::u8)) return std::nullopt;
  if (are_channels(dims[1]) && is_side(dims[2]) && is_side(dims[3])) return false;
  if (are_channels(dims[3]) && is_side(dims[1]) && is_side(dims[2])) return true;
  return std::nullopt;
}

bool is_waveform(const TensorSpec& input, const InputUses& uses) {
  const std::vector<Dim>& dims = input.shape;
  return is_float(input.dtype) && uses.first == FirstOperator::convolution_1d &&
         (dims.size() == 2 || (dims.size() == 3 && dims[1].size == 1));
}

// Whether elements are compared with one of 0 and 1 alone: drawn from that number, all would be
// equal, as if a text were all padding. A single number may choose between branches.
bool asks_for_truth(const InputUses& uses) {
  const auto& choices = uses.choices;
  return uses.truth && (choices.empty() || (choices.size() == 1 && *choices.begin() <= 1));
}

InputKind integer_kind(const TensorSpec& input, const InputUses& uses) {
  if (channels_last(input))
    return {.role = InputRole::image,
            .channels_last = *channels_last(input),
            .range = Interval{0, 255}};
  std::optional<Interval> ids = uses.range;
  if (uses.index_length) {
    const auto last = static_cast<double>(*uses.index_length - 1);
    ids = {0, ids ? std::min(last, ids->high) : last};
  }
  if (ids) return {.role = InputRole::ids, .range = ids};
  const bool is_truth = asks_for_truth(uses) && !input.shape.empty();
  if (!uses.choices.empty() && !is_truth)
    return {.role = InputRole::choices, .choices = {uses.choices.begin(), uses.choices.end()}};
  if (uses.condition) return {.role = InputRole::condition};
  if (uses.mask) return {.role = InputRole::mask};
  if (uses.length || (uses.counted_to && input.shape.size() <= 1))
    return {.role = InputRole::length};
  if (is_truth || input.dtype == DType::boolean) return {.role = InputRole::mask};
  if (uses.number && input.shape.size() >= 2) return {.role = InputRole::positions};
  return {};
}

InputKind float_kind(const TensorSpec& input, const InputUses& uses) {
  if (uses.state) return {.role = InputRole::state};
  if (!uses.choices.empty())
    return {.role = InputRole::choices, .choices = {uses.choices.begin(), uses.choices.end()}};
  InputKind kind{.range = uses.quantized, .means = uses.means, .deviations = uses.deviations};
  if (const auto last = channels_last(input)) {
    kind.role = InputRole::image;
    kind.channels_last = *last;
  } else if (is_waveform(input, uses)) {
    kind.role = InputRole::audio;
  }
  return kind;
}

// Whether the output could be fed back into the input: the same dtype and rank, no two known dims
// differ, and the input declares a dim above 1.
bool could_be_fed_back(const TensorSpec& output, const TensorSpec& input) {
  if (output.dtype != input.dtype || output.shape.size() != input.shape.size()) return false;
  bool known = false;
  for (std::size_t i = 0; i < input.shape.size(); ++i) {
    const Dim &from = output.shape[i], &to = input.shape[i];
    if (!from.is_dynamic() && !to.is_dynamic() && from.size != to.size) return false;
    known |= to.size > 1;
  }
  return known;
}

bool brings_data(const InputKind& kind) {
  return kind.role == InputRole::image || kind.role == InputRole::audio ||
         kind.role == InputRole::ids || kind.role == InputRole::values;
}

// Marks inputs as states that an output is fed back into: the output has the input's shape, or the
// input's elements flow into an output, as in a growing cache. Only if another input brings data
// and at least one output is left over.
void find_states(const Model& model, const std::vector<InputUses>& uses,
                 std::vector<InputKind>& kinds) {
  const std::vector<TensorSpec> inputs = model.inputs();
  std::vector<TensorSpec> outputs = model.outputs();
  std::vector<InputKind> found = kinds;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool sought = is_float(inputs[i].dtype) && kinds[i].role != InputRole::audio &&
                        uses[i].first != FirstOperator::convolution_2d;
    const auto output = std::ranges::find_if(outputs, [&](const TensorSpec& spec) {
      return could_be_fed_back(spec, inputs[i]) || !uses[i].moved_to.empty();
    });
    if (!sought || output == outputs.end()) continue;
    found[i] = {.role = InputRole::state};
    outputs.erase(output);
  }
  if (!outputs.empty() && std::ranges::any_of(found, brings_data)) kinds = std::move(found);
}

}  // namespace

std::vector<InputKind> input_kinds(const Model& model) {
  const std::vector<TensorSpec> inputs = model.inputs();
  const std::vector<InputUses> uses = input_uses(model);
  std::vector<InputKind> kinds;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    kinds.push_back(is_float(inputs[i].dtype) ? float_kind(inputs[i], uses[i])
                                              : integer_kind(inputs[i], uses[i]));
  find_states(model, uses, kinds);
  return kinds;
}

std::map<std::string, std::int64_t> index_lengths(const Model& model) {
  const std::vector<TensorSpec> inputs = model.inputs();
  const std::vector<InputUses> uses = input_uses(model);
  std::map<std::string, std::int64_t> lengths;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (is_integer(inputs[i].dtype) && uses[i].index_length)
      lengths[inputs[i].name] = *uses[i].index_length;
  return lengths;
}

}  // namespace vernier
