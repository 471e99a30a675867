#include "vernier/data/input_shape.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "vernier/error.h"

namespace vernier {
namespace {

// Limit for one input of one sample: far above any real input, far below the size that a typing
// error in --shape could request.
constexpr std::int64_t most_bytes = std::int64_t{1} << 34;

// The flag with the input's static dims, and 1 for dynamic ones.
std::string example_shape_option(const TensorSpec& input) {
  Shape shape;
  for (const Dim& dim : input.shape) shape.push_back(dim.is_dynamic() ? 1 : dim.size);
  return shape_option(input.name, shape);
}

using Symbols = std::map<std::string, std::int64_t, std::less<>>;

Symbols bind_symbols(std::span<const TensorSpec> inputs,
                     const std::map<std::string, Shape>& given) {
  Symbols sizes;
  for (const TensorSpec& input : inputs) {
    const auto shape = given.find(input.name);
    if (shape == given.end()) continue;
    for (std::size_t i = 0; i < std::min(input.shape.size(), shape->second.size()); ++i)
      if (input.shape[i].is_dynamic() && !input.shape[i].symbol.empty())
        sizes.emplace(input.shape[i].symbol, shape->second[i]);
  }
  return sizes;
}

// The size of a dynamic dim: bound by a given shape, a number, or a sum of these (the length of a
// mask is "past_sequence_length + sequence_length"); 1 if unknown.
std::int64_t dynamic_size(std::string_view symbol, const Symbols& symbols) {
  const auto begin = symbol.find_first_not_of(' ');
  if (begin == std::string_view::npos) return 1;
  symbol = symbol.substr(begin, symbol.find_last_not_of(' ') + 1 - begin);
  if (const auto bound = symbols.find(symbol); bound != symbols.end()) return bound->second;
  if (const auto plus = symbol.find('+'); plus != std::string_view::npos)
    return dynamic_size(symbol.substr(0, plus), symbols) +
           dynamic_size(symbol.substr(plus + 1), symbols);
  std::int64_t number = 1;
  std::from_chars(symbol.data(), symbol.data() + symbol.size(), number);
  return number;
}

Shape resolve(const TensorSpec& input, const Symbols& symbols) {
  if (!input.ranked)
    throw Error(fmt::format(
        "[inputs] '{}': the model does not say its shape; pass it, as in --shape {}=1x3x224x224",
        input.name, input.name));
  Shape shape;
  for (const Dim& dim : input.shape)
    shape.push_back(dim.is_dynamic() ? dynamic_size(dim.symbol, symbols) : dim.size);
  return shape;
}

void require_makeable(const TensorSpec& input, const Shape& shape) {
  const std::int64_t count = element_count(shape);
  if (count > most_bytes || byte_size(input.dtype, count) > most_bytes)
    throw Error(
        fmt::format("[inputs] '{}': shape {} is larger than the {} GiB an input may have; "
                    "pass a smaller --shape",
                    input.name, format_shape(shape), most_bytes >> 30));
}

}  // namespace

void require_input(std::span<const TensorSpec> inputs, const std::string& name,
                   std::string_view option) {
  std::vector<std::string> names;
  for (const TensorSpec& input : inputs) names.push_back(fmt::format("'{}'", input.name));
  if (std::ranges::find(names, fmt::format("'{}'", name)) == names.end())
    throw Error(fmt::format("[inputs] {}: the model has no input '{}'; its inputs are {}", option,
                            name, fmt::join(names, ", ")));
}

bool fits(std::span<const std::int64_t> shape, const std::vector<Dim>& dims) {
  return std::ranges::equal(shape, dims, [](std::int64_t size, const Dim& dim) {
    return size >= 0 && (dim.is_dynamic() || dim.size == size);
  });
}

Shape squeezed(Shape shape) {
  std::erase(shape, 1);
  return shape;
}

void check_shapes(std::span<const TensorSpec> inputs, const std::map<std::string, Shape>& given) {
  for (const auto& [name, shape] : given) require_input(inputs, name, "--shape");
  for (const TensorSpec& input : inputs) {
    const auto shape = given.find(input.name);
    if (shape != given.end() && input.ranked && !fits(shape->second, input.shape))
      throw Error(fmt::format("[inputs] '{}': shape {} was asked for, model expects {}; pass {}",
                              input.name, format_shape(shape->second), format_shape(input.shape),
                              example_shape_option(input)));
  }
}

Shape resolve_shape(std::size_t input, std::span<const TensorSpec> inputs,
                    const std::map<std::string, Shape>& known) {
  const auto shape = known.find(inputs[input].name);
  Shape resolved =
      shape != known.end() ? shape->second : resolve(inputs[input], bind_symbols(inputs, known));
  require_makeable(inputs[input], resolved);
  return resolved;
}

std::string shape_option(const std::string& input, std::span<const std::int64_t> shape) {
  return fmt::format("--shape {}={}", input, fmt::join(shape, "x"));
}

std::vector<Shape> resolve_shapes(std::span<const TensorSpec> inputs,
                                  const std::map<std::string, Shape>& given) {
  check_shapes(inputs, given);
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < inputs.size(); ++i) shapes.push_back(resolve_shape(i, inputs, given));
  return shapes;
}

}  // namespace vernier
