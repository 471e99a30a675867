#include "vernier/runtime/runner.h"

#include <algorithm>

namespace vernier {

std::vector<TensorSpec> Runner::parameters() const {
  std::vector<TensorSpec> specs;
  visit_parameters([&](const TensorView& parameter) {
    TensorSpec spec{.name = std::string(parameter.name), .dtype = parameter.dtype};
    for (const std::int64_t size : parameter.shape) spec.shape.push_back({.size = size});
    specs.push_back(std::move(spec));
  });
  return specs;
}

void Runner::visit_parameters_named(std::span<const std::string> names,
                                    const TensorVisitor& visit) const {
  visit_parameters([&](const TensorView& parameter) {
    if (std::ranges::find(names, parameter.name) != names.end()) visit(parameter);
  });
}

}  // namespace vernier
