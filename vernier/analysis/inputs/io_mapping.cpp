#include "vernier/analysis/inputs/io_mapping.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "vernier/close_names.h"
#include "vernier/error.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/parse_number.h"

namespace vernier {
namespace {

std::optional<double> parse_value(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  if (text == "true" || text == "false") return text == "true" ? 1 : 0;
  return parse_number<double>(text);
}

// "16000", or a list "[224,224]"; nullopt if a part is not a number.
std::optional<std::vector<double>> parse_values(std::string_view text) {
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  std::vector<double> values;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    const auto value = parse_value(text.substr(0, comma));
    if (!value) return std::nullopt;
    values.push_back(*value);
    more = comma != text.npos;
    if (more) text.remove_prefix(comma + 1);
  }
  return values;
}

// A double cannot represent every integer beyond 2^53.
bool can_hold(DType dtype, double value) {
  if (is_float(dtype)) return true;
  if (dtype == DType::boolean) return value == 0 || value == 1;
  const double most = std::ldexp(1.0, std::min(53, bits(dtype) - (is_signed(dtype) ? 1 : 0)));
  return value == std::trunc(value) && value < most && value >= (is_signed(dtype) ? -most : 0);
}

template <typename Named>
std::vector<std::string> names_in(std::span<const Named> list) {
  std::vector<std::string> names;
  for (const Named& named : list) names.push_back(named.name);
  return names;
}

}  // namespace

std::pair<std::string, std::string> parse_name_pair(std::string_view text,
                                                    std::string_view option) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == text.npos || equals + 1 == text.size())
    throw Error(fmt::format("[inputs] {} {}: expected {}", option, text,
                            option == "--feedback" ? "OUTPUT=INPUT" : "REFERENCE=CANDIDATE"));
  return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

std::pair<std::string, std::vector<double>> parse_constant(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  const bool named = equals != text.npos && equals > 0;
  const auto values = named ? parse_values(text.substr(equals + 1)) : std::nullopt;
  if (!values)
    throw Error(fmt::format(
        "[inputs] --set {}: expected NAME=VALUE, as in sr=16000 or size=[224,224]", text));
  return {std::string(text.substr(0, equals)), *values};
}

void require_name(std::string_view name, std::span<const std::string> names,
                  std::string_view option, std::string_view owner, std::string_view noun) {
  if (std::ranges::find(names, name) != names.end()) return;
  const std::vector<std::string> close = close_names(name, names);
  throw Error(fmt::format("[inputs] {}: there is no {} '{}' in {}; there are {}{}", option, noun,
                          name, owner,
                          names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", ")),
                          close.empty() ? "" : fmt::format("; did you mean {}?", close[0])));
}

std::vector<std::string> names_of(std::span<const TensorSpec> specs) { return names_in(specs); }
std::vector<std::string> names_of(std::span<const Tensor> tensors) { return names_in(tensors); }

Tensor constant_tensor(const TensorSpec& input, Shape shape, std::span<const double> values) {
  const bool any_length = shape.size() == 1 && input.shape.size() == 1 &&
                          input.shape[0].is_dynamic() && values.size() > 1;
  if (any_length || !input.ranked)
    shape.assign(values.size() > 1 ? 1 : shape.size(), std::ssize(values));
  Tensor tensor = make_tensor(input.name, DType::f64, std::move(shape));
  const std::span<double> elements = vernier::elements<double>(tensor);
  if (values.size() != 1 && values.size() != elements.size())
    throw Error(
        fmt::format("[inputs] --set {}: {} values for an input of shape {}; give one, or {}",
                    input.name, values.size(), format_shape(tensor.shape), elements.size()));
  for (const double value : values)
    if (!can_hold(input.dtype, value))
      throw Error(
          fmt::format("[inputs] --set {}={}: the input is {}; give a value that it can hold",
                      input.name, value, dtype_name(input.dtype)));
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = values[values.size() == 1 ? 0 : i];
  return convert(tensor, input.dtype);
}

void require_inputs(const IoMapping& io, std::span<const TensorSpec> inputs) {
  for (const auto& [name, values] : io.constants)
    require_name(name, names_of(inputs), "--set", "the model", "input");
}

std::map<std::string, std::vector<double>> initial_values(const IoMapping& io) {
  auto values = io.constants;
  for (const Feedback& state : io.feedback) {
    values.emplace(state.input, std::vector{0.0});
    if (const auto mapped = io.inputs.find(state.input); mapped != io.inputs.end())
      values.emplace(mapped->second, values.at(state.input));
  }
  return values;
}

}  // namespace vernier
