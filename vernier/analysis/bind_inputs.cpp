#include "vernier/analysis/bind_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "vernier/analysis/layout.h"
#include "vernier/error.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

int index_of(std::span<const TensorSpec> specs, const std::string& name) {
  const auto found = std::ranges::find(specs, name, &TensorSpec::name);
  return found == specs.end() ? -1 : static_cast<int>(found - specs.begin());
}

bool any_name_shared(std::span<const TensorSpec> sources, std::span<const TensorSpec> targets) {
  return std::ranges::any_of(targets,
                             [&](const auto& spec) { return index_of(sources, spec.name) >= 0; });
}

std::string names_of(std::span<const TensorSpec> specs) {
  std::vector<std::string> names;
  for (const TensorSpec& spec : specs) names.push_back(spec.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

bool compatible(const Dim& source, const Dim& target) {
  return source.is_dynamic() || target.is_dynamic() || source.size == target.size;
}

bool fits(const TensorSpec& source, const TensorSpec& target, std::span<const int> permutation) {
  for (std::size_t i = 0; i < permutation.size(); ++i)
    if (!compatible(source.shape[permutation[i]], target.shape[i])) return false;
  return true;
}

// The permutation between NCHW and NHWC that makes two images fit which do not fit as they are.
std::vector<int> image_permutation(const TensorSpec& source, const TensorSpec& target) {
  constexpr std::array<std::array<int, 4>, 3> orders = {{{0, 1, 2, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}}};
  if (source.shape.size() != 4 || target.shape.size() != 4) return {};
  for (const auto& order : orders)
    if (fits(source, target, order))
      return order == orders[0] ? std::vector<int>{} : std::vector<int>(order.begin(), order.end());
  return {};
}

}  // namespace

InputBindings bind_inputs(std::span<const TensorSpec> sources,
                          std::span<const TensorSpec> targets) {
  InputBindings bindings;
  const bool by_position = !any_name_shared(sources, targets) && sources.size() == targets.size();
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const TensorSpec& target = targets[i];
    const int source = by_position ? static_cast<int>(i) : index_of(sources, target.name);
    if (source < 0)
      throw Error(
          fmt::format("[inputs] '{}' has no counterpart: the candidate takes {}, the reference {}; "
                      "the two files may not be the same model",
                      target.name, names_of(sources), names_of(targets)));
    const std::vector<int> permutation = image_permutation(sources[source], target);
    if (!permutation.empty())
      bindings.warnings.push_back(fmt::format(
          "input '{}' is {} in the candidate and {} in the reference: its axes are permuted ({})",
          target.name, format_shape(sources[source].shape), format_shape(target.shape),
          fmt::join(permutation, ",")));
    bindings.inputs.push_back({source, target.dtype, permutation});
  }
  return bindings;
}

std::vector<Tensor> apply_bindings(const InputBindings& bindings,
                                   std::span<const TensorSpec> targets,
                                   std::span<const Tensor> sample) {
  std::vector<Tensor> inputs;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const InputBinding& binding = bindings.inputs[i];
    Tensor tensor = sample[binding.source];
    if (!binding.permutation.empty()) tensor = permute_axes(tensor, binding.permutation);
    if (tensor.dtype != binding.dtype) tensor = convert(tensor, binding.dtype);
    tensor.name = targets[i].name;
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

}  // namespace vernier
