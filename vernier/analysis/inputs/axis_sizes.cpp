#include "vernier/analysis/inputs/axis_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <ranges>
#include <string_view>

#include "vernier/tensor/parse_number.h"

namespace vernier {
namespace {

// The size of an axis named "past + sequence + 1"; nullopt unless all terms are known.
std::optional<std::int64_t> sum_of_axes(std::string_view name, std::span<const DynamicAxis> axes,
                                        std::span<const std::int64_t> sizes) {
  if (name.find('+') == std::string_view::npos) return std::nullopt;
  std::int64_t sum = 0;
  for (const auto part : std::views::split(name, '+')) {
    std::string term(part.begin(), part.end());
    std::erase(term, ' ');
    const auto axis = std::ranges::find(axes, term, &DynamicAxis::name);
    const auto number = axis == axes.end() ? parse_number<std::int64_t>(term)
                                           : std::optional(sizes[axis - axes.begin()]);
    if (!number) return std::nullopt;
    sum += *number;
  }
  return sum;
}

// Adds candidates where one axis is as long as all other axes together, which are 1 each: a mask
// covers past and present tokens. Batch axes are not counted.
void add_sums(std::span<const DynamicAxis> axes,
              std::vector<std::vector<std::int64_t>>& candidates) {
  const auto lengths = std::ranges::count(axes, false, &DynamicAxis::is_batch);
  for (std::size_t i = 0; lengths > 2 && i < axes.size(); ++i) {
    if (axes[i].is_batch) continue;
    candidates.emplace_back(axes.size(), 1);
    candidates.back()[i] = lengths - 1;
  }
}

// Sizes for axes that a model leaves open: the sides of an image, the samples of a sound at 16 kHz,
// and the tokens of a sequence.
struct OpenSizes {
  std::int64_t side = 0, sound = 0, length = 0;
};
// One pixel is no image, 32 ms are little sound, and one token is no sequence.
constexpr std::array<OpenSizes, 7> open_sizes = {{{224, 16000, 16},
                                                  {64, 4096, 16},
                                                  {32, 512, 16},
                                                  {224, 16000, 64},
                                                  {224, 16000, 1},
                                                  {64, 4096, 1},
                                                  {32, 512, 1}}};

std::int64_t size_at(const DynamicAxis::Place& place, std::span<const TensorSpec> inputs,
                     std::span<const InputKind> kinds, const OpenSizes& open) {
  const InputKind& kind = kinds[place.input];
  const std::size_t first_side = kind.channels_last ? 1 : 2;
  if (kind.role == InputRole::image)
    return place.axis == first_side || place.axis == first_side + 1 ? open.side : 1;
  if (kind.role == InputRole::audio)
    return place.axis + 1 == inputs[place.input].shape.size() ? open.sound : 1;
  return open.length;
}

// 1 for a batch axis, which is axis 0 of an input that has other axes. If the axis is in several
// places, the largest size.
std::int64_t open_size(const DynamicAxis& axis, std::span<const TensorSpec> inputs,
                       std::span<const InputKind> kinds, const OpenSizes& open) {
  std::int64_t size = 1;
  for (const DynamicAxis::Place& place : axis.places) {
    if (place.axis == 0 && inputs[place.input].shape.size() > 1) return 1;
    size = std::max(size, size_at(place, inputs, kinds, open));
  }
  return size;
}

std::optional<std::int64_t> given_size(const DynamicAxis& axis, std::span<const TensorSpec> inputs,
                                       const std::map<std::string, Shape>& given) {
  for (const DynamicAxis::Place& place : axis.places) {
    const auto shape = given.find(inputs[place.input].name);
    const bool counts = axis.named || axis.places.size() == 1;
    if (counts && shape != given.end() && place.axis < shape->second.size())
      return shape->second[place.axis];
  }
  return std::nullopt;
}

}  // namespace

std::vector<DynamicAxis> dynamic_axes(std::span<const TensorSpec> inputs) {
  std::vector<DynamicAxis> axes;
  for (std::size_t input = 0; input < inputs.size(); ++input)
    for (std::size_t axis = 0; axis < inputs[input].shape.size(); ++axis) {
      const Dim& dim = inputs[input].shape[axis];
      if (!dim.is_dynamic()) continue;
      const std::string name = dim.symbol.empty() ? fmt::format("axis {}", axis) : dim.symbol;
      auto found = std::ranges::find(axes, name, &DynamicAxis::name);
      if (found == axes.end())
        found = axes.insert(found, {.name = name, .named = !dim.symbol.empty()});
      found->is_batch |= axis == 0;
      found->places.push_back({input, axis});
    }
  return axes;
}

std::map<std::string, Shape> shapes_with(std::span<const TensorSpec> inputs,
                                         std::span<const DynamicAxis> axes,
                                         std::span<const std::int64_t> sizes) {
  std::vector<Shape> shapes;
  for (const TensorSpec& input : inputs) {
    Shape& shape = shapes.emplace_back();
    for (const Dim& dim : input.shape) shape.push_back(dim.size);
  }
  for (std::size_t i = 0; i < axes.size(); ++i)
    for (const DynamicAxis::Place& place : axes[i].places)
      shapes[place.input][place.axis] = sum_of_axes(axes[i].name, axes, sizes).value_or(sizes[i]);
  std::map<std::string, Shape> named;
  for (std::size_t i = 0; i < inputs.size(); ++i) named[inputs[i].name] = shapes[i];
  return named;
}

std::vector<std::vector<std::int64_t>> size_candidates(std::span<const DynamicAxis> axes) {
  std::vector<std::vector<std::int64_t>> candidates;
  const auto add = [&](std::int64_t batch, std::int64_t other) {
    std::vector<std::int64_t> sizes;
    for (const DynamicAxis& axis : axes) sizes.push_back(axis.is_batch ? batch : other);
    if (std::ranges::find(candidates, sizes) == candidates.end()) candidates.push_back(sizes);
  };
  for (const std::int64_t other : {16, 1, 64, 224, 512, 4096, 16000}) add(1, other);
  add_sums(axes, candidates);
  for (const std::int64_t batch : {2, 4, 8, 16, 32, 64}) add(batch, 1);
  return candidates;
}

std::map<std::string, Shape> open_shapes(
    std::span<const TensorSpec> inputs, std::span<const InputKind> kinds,
    const std::map<std::string, Shape>& given,
    const std::function<bool(const std::map<std::string, Shape>&)>& runs) {
  const std::vector<DynamicAxis> axes = dynamic_axes(inputs);
  std::map<std::string, Shape> shapes = given;
  std::vector<std::vector<std::int64_t>> tried;
  for (const OpenSizes& open : open_sizes) {
    bool is_open = false;
    std::vector<std::int64_t> sizes;
    for (const DynamicAxis& axis : axes) {
      const auto known = given_size(axis, inputs, given);
      sizes.push_back(known.value_or(open_size(axis, inputs, kinds, open)));
      is_open |= !known && open_size(axis, inputs, kinds, open_sizes[0]) > 1;
    }
    if (!is_open) return given;
    if (std::ranges::find(tried, sizes) != tried.end()) continue;
    tried.push_back(sizes);
    shapes = given;
    for (const auto& [name, shape] : shapes_with(inputs, axes, sizes)) {
      const auto input = std::ranges::find(inputs, name, &TensorSpec::name);
      if (input->ranked) shapes.emplace(name, shape);
    }
    if (runs(shapes)) return shapes;
  }
  return shapes;
}

}  // namespace vernier
