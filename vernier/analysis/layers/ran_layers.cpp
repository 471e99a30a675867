#include "vernier/analysis/layers/ran_layers.h"

#include <algorithm>

namespace vernier {
namespace {

bool is_output_of(const std::string& name, const Layer& layer) {
  return name.starts_with(layer.name + ".");
}

// What the reference said of a layer that ran.
Layer known_layer(const std::string& name, const std::vector<Layer>& layers) {
  if (const auto known = std::ranges::find(layers, name, &Layer::name); known != layers.end())
    return *known;
  const auto whole =
      std::ranges::find_if(layers, [&](const Layer& layer) { return is_output_of(name, layer); });
  return {.name = name, .type = whole == layers.end() ? "" : whole->type};
}

}  // namespace

std::vector<Layer> layers_that_ran(const std::vector<SeenLayer>& seen,
                                   const std::vector<Layer>& layers) {
  std::vector<Layer> ran;
  std::set<std::string> names;
  for (const SeenLayer& layer : seen)
    if (names.insert(layer.name).second) ran.push_back(known_layer(layer.name, layers));
  return ran;
}

std::vector<std::string> idle_layers(const std::vector<Layer>& layers,
                                     const std::set<std::string>& ran) {
  std::vector<std::string> idle;
  for (const Layer& layer : layers) {
    const auto output = ran.lower_bound(layer.name + ".");
    if (!ran.contains(layer.name) && (output == ran.end() || !is_output_of(*output, layer)))
      idle.push_back(layer.name);
  }
  return idle;
}

}  // namespace vernier
