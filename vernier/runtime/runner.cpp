#include "vernier/runtime/runner.h"

#include <algorithm>

namespace vernier {

std::vector<TensorSpec> Runner::parameters() const {
  std::vector<TensorSpec> specs;
  visit_parameters([&](const TensorView& parameter) { specs.push_back(spec_of(parameter)); });
  return specs;
}

void Runner::visit_parameters_named(std::span<const std::string> names,
                                    const TensorVisitor& visit) const {
  visit_parameters([&](const TensorView& parameter) {
    if (std::ranges::find(names, parameter.name) != names.end()) visit(parameter);
  });
}

}  // namespace vernier
