#include "vernier/analysis/inputs/bind_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "vernier/data/input_shape.h"
#include "vernier/error.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/permute.h"

namespace vernier {
namespace {

using Dims = std::span<const Dim>;

int index_of(std::span<const TensorSpec> specs, const std::string& name) {
  const auto found = std::ranges::find(specs, name, &TensorSpec::name);
  return found == specs.end() ? -1 : static_cast<int>(found - specs.begin());
}

bool compatible(const Dim& source, const Dim& target) {
  return source.is_dynamic() || target.is_dynamic() || source.size == target.size;
}

bool fits(const TensorSpec& source, const TensorSpec& target, std::span<const int> permutation) {
  for (std::size_t i = 0; i < permutation.size(); ++i)
    if (!compatible(source.shape[permutation[i]], target.shape[i])) return false;
  return true;
}

// The permutation between NCHW and NHWC that makes two images fit; empty if none is needed or fits.
std::vector<int> image_permutation(const TensorSpec& source, const TensorSpec& target) {
  constexpr std::array<std::array<int, 4>, 3> orders = {{{0, 1, 2, 3}, {0, 2, 3, 1}, {0, 3, 1, 2}}};
  if (source.shape.size() != 4 || target.shape.size() != 4) return {};
  for (const auto& order : orders)
    if (fits(source, target, order))
      return order == orders[0] ? std::vector<int>{} : std::vector<int>(order.begin(), order.end());
  return {};
}

// The axes of `longer` that are left when axes of size 1 that `shorter` lacks are dropped, the
// earliest possible ones; nullopt if the shapes do not fit. With `drop_dynamic`, a dynamic axis may
// be of size 1.
std::optional<std::vector<int>> kept_axes(Dims longer, Dims shorter, bool drop_dynamic,
                                          int first = 0) {
  if (longer.empty()) return std::vector<int>{};
  const Dim& dim = longer[0];
  const bool droppable = dim.size == 1 || (drop_dynamic && dim.is_dynamic());
  if (droppable && longer.size() > shorter.size())
    if (auto kept = kept_axes(longer.subspan(1), shorter, drop_dynamic, first + 1)) return kept;
  if (shorter.empty() || !compatible(dim, shorter[0])) return std::nullopt;
  auto kept = kept_axes(longer.subspan(1), shorter.subspan(1), drop_dynamic, first + 1);
  if (kept) kept->insert(kept->begin(), first);
  return kept;
}

std::optional<std::vector<int>> kept_axes(Dims longer, Dims shorter) {
  const auto kept = kept_axes(longer, shorter, false);
  return kept ? kept : kept_axes(longer, shorter, true);
}

// For InputBinding::squeezed_axes.
std::optional<std::vector<int>> squeezed_axes(const TensorSpec& source, const TensorSpec& target) {
  if (!source.ranked || !target.ranked || source.shape.size() == target.shape.size())
    return std::nullopt;
  const bool adds = source.shape.size() < target.shape.size();
  const auto kept =
      adds ? kept_axes(target.shape, source.shape) : kept_axes(source.shape, target.shape);
  if (!kept || !adds) return kept;
  std::vector<int> axes(target.shape.size(), -1);
  for (std::size_t i = 0; i < kept->size(); ++i) axes[(*kept)[i]] = static_cast<int>(i);
  return axes;
}

int kind_of(DType dtype) { return is_float(dtype) ? 0 : dtype == DType::boolean ? 1 : 2; }

// Whether two inputs at the same position may be the same input.
bool agree(const TensorSpec& source, const TensorSpec& target) {
  if (!source.ranked || !target.ranked) return true;
  if (kind_of(source.dtype) != kind_of(target.dtype)) return false;
  if (source.shape.size() != target.shape.size()) return squeezed_axes(source, target).has_value();
  return std::ranges::equal(source.shape, target.shape, compatible) ||
         !image_permutation(source, target).empty();
}

class Binding {
 public:
  Binding(std::span<const TensorSpec> sources, std::span<const TensorSpec> targets,
          const IoMapping& io)
      : sources_(sources), targets_(targets), constants_(initial_values(io)) {
    require_names(io);
    for (const TensorSpec& target : targets) {
      const auto mapped = io.inputs.find(target.name);
      found_.push_back(mapped == io.inputs.end() ? -1 : index_of(sources, mapped->second));
    }
    bind_by_name();
    bind_by_position();
  }

  InputBindings result() && {
    for (std::size_t i = 0; i < targets_.size(); ++i) add(targets_[i], found_[i]);
    for (std::size_t i = 0; i < sources_.size() && !targets_.empty(); ++i)
      if (is_left(i)) warn({WarningKind::unbound_input, sources_[i].name});
    return std::move(bindings_);
  }

 private:
  void warn(Warning warning) { bindings_.warnings.push_back(std::move(warning)); }

  void require_names(const IoMapping& io) const {
    const std::vector<std::string> candidate = names_of(sources_), reference = names_of(targets_);
    for (const auto& [target, source] : io.inputs) {
      require_name(target, reference, "--map-input", "the reference", "input");
      require_name(source, candidate, "--map-input", "the candidate", "input");
    }
    std::vector<std::string> both = candidate;
    std::ranges::copy_if(reference, std::back_inserter(both),
                         [&](const std::string& name) { return index_of(sources_, name) < 0; });
    for (const auto& [name, values] : io.constants)
      require_name(name, both, "--set", "either model", "input");
  }

  // Whether no target takes the source, and the source has no constant value.
  bool is_left(std::size_t source) const {
    return std::ranges::count(found_, static_cast<int>(source)) == 0 &&
           !constants_.contains(sources_[source].name);
  }

  void bind_by_name() {
    const std::vector<int> mapped = found_;
    for (std::size_t i = 0; i < targets_.size(); ++i)
      if (const int source = index_of(sources_, targets_[i].name);
          found_[i] < 0 && std::ranges::count(mapped, source) == 0)
        found_[i] = source;
  }

  void bind_by_position() {
    std::vector<std::size_t> left_targets, left_sources;
    for (std::size_t i = 0; i < targets_.size(); ++i)
      if (found_[i] < 0 && !constants_.contains(targets_[i].name)) left_targets.push_back(i);
    for (std::size_t i = 0; i < sources_.size(); ++i)
      if (is_left(i)) left_sources.push_back(i);
    const auto may_be_same = [&](std::size_t source, std::size_t target) {
      return agree(sources_[source], targets_[target]);
    };
    if (!std::ranges::equal(left_sources, left_targets, may_be_same)) return;
    for (std::size_t i = 0; i < left_targets.size(); ++i)
      bind_by_position(left_sources[i], left_targets[i]);
  }

  void bind_by_position(std::size_t source, std::size_t target) {
    found_[target] = static_cast<int>(source);
    // The only input of a TorchScript module needs no warning.
    if (targets_.size() == 1 && sources_.size() == 1 && !targets_[target].ranked) return;
    warn({WarningKind::input_by_position, sources_[source].name, targets_[target].name});
  }

  void add(const TensorSpec& target, int source) {
    if (source >= 0) return add(target, source, sources_[source]);
    const auto values = constants_.find(target.name);
    if (values == constants_.end())
      throw Error(fmt::format(
          "[inputs] '{}' has no counterpart: the candidate takes {}, the reference {}; pass "
          "--map-input {}=NAME or --set {}=VALUE, unless the two files are not the same model",
          target.name, fmt::join(names_of(sources_), ", "), fmt::join(names_of(targets_), ", "),
          target.name, target.name));
    bindings_.inputs.push_back(
        {.source = -1, .dtype = target.dtype, .permutation = {}, .values = values->second});
  }

  void add(const TensorSpec& target, int index, const TensorSpec& source) {
    InputBinding binding{index, target.dtype, image_permutation(source, target),
                         squeezed_axes(source, target)};
    if (!target.ranked && is_float(target.dtype) && !is_float(source.dtype))
      binding.dtype = source.dtype;
    if (!binding.permutation.empty())
      warn({.kind = WarningKind::permuted_input,
            .subject = target.name,
            .more = {format_shape(source.shape), format_shape(target.shape),
                     fmt::format("{}", fmt::join(binding.permutation, ","))}});
    if (binding.squeezed_axes)
      warn({.kind = source.shape.size() < target.shape.size() ? WarningKind::widened_input
                                                              : WarningKind::squeezed_input,
            .subject = target.name,
            .more = {format_shape(source.shape), format_shape(target.shape)}});
    bindings_.inputs.push_back(std::move(binding));
  }

  std::span<const TensorSpec> sources_, targets_;
  std::map<std::string, std::vector<double>> constants_;
  std::vector<int> found_;  // the source of each target; -1 if it has none
  InputBindings bindings_;
};

// The source's axis for axis `target` of the second model's input; -1 if that is a new axis.
int source_axis(const InputBinding& binding, std::size_t target) {
  if (binding.squeezed_axes) return (*binding.squeezed_axes)[target];
  return binding.permutation.empty() ? static_cast<int>(target) : binding.permutation[target];
}

Tensor squeeze(Tensor tensor, const InputBinding& binding) {
  if (!binding.squeezed_axes) return tensor;
  Shape shape;
  for (const int axis : *binding.squeezed_axes) shape.push_back(axis < 0 ? 1 : tensor.shape[axis]);
  if (element_count(shape) != tensor.size())
    throw Error(
        fmt::format("[inputs] '{}': shape {} cannot be squeezed to the reference's {}; the axes "
                    "that it lacks must be 1",
                    tensor.name, format_shape(tensor.shape), format_shape(shape)));
  tensor.shape = std::move(shape);
  return tensor;
}

// Named dims take the size of the dims of the same name in the other inputs.
Tensor make_constant(std::size_t index, const InputBinding& binding,
                     std::span<const TensorSpec> targets, std::span<const Tensor> inputs) {
  std::map<std::string, Shape> known;
  for (const Tensor& input : inputs)
    if (!input.name.empty()) known.emplace(input.name, input.shape);
  Shape shape;
  if (targets[index].ranked) shape = resolve_shape(index, targets, known);
  return constant_tensor(targets[index], std::move(shape), binding.values);
}

}  // namespace

InputBindings bind_inputs(std::span<const TensorSpec> sources, std::span<const TensorSpec> targets,
                          const IoMapping& io) {
  return Binding(sources, targets, io).result();
}

std::vector<TensorSpec> with_static_dims(std::span<const TensorSpec> sources,
                                         std::span<const TensorSpec> targets,
                                         const InputBindings& bindings) {
  std::vector<TensorSpec> specs(sources.begin(), sources.end());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const InputBinding& binding = bindings.inputs[i];
    if (binding.source < 0 || !targets[i].ranked) continue;
    std::vector<Dim>& dims = specs[binding.source].shape;
    for (std::size_t j = 0; j < targets[i].shape.size(); ++j) {
      const int axis = source_axis(binding, j);
      if (axis >= 0 && axis < std::ssize(dims) && dims[axis].is_dynamic())
        dims[axis].size = targets[i].shape[j].size;
    }
  }
  return specs;
}

std::vector<Tensor> apply_bindings(const InputBindings& bindings,
                                   std::span<const TensorSpec> targets,
                                   std::span<const Tensor> sample) {
  std::vector<Tensor> inputs(targets.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const InputBinding& binding = bindings.inputs[i];
    if (binding.source < 0) continue;
    Tensor tensor = squeeze(sample[binding.source], binding);
    if (!binding.permutation.empty()) tensor = permute_axes(tensor, binding.permutation);
    if (tensor.dtype != binding.dtype) tensor = convert(tensor, binding.dtype);
    tensor.name = targets[i].name;
    inputs[i] = std::move(tensor);
  }
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (bindings.inputs[i].source < 0)
      inputs[i] = make_constant(i, bindings.inputs[i], targets, inputs);
  return inputs;
}

}  // namespace vernier
