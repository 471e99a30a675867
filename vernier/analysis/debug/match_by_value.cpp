#include "vernier/analysis/debug/match_by_value.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include "vernier/analysis/bind_inputs.h"
#include "vernier/metrics/similarity.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {
namespace {

const std::string& watched_name(const QuantizedActivation& activation) {
  return activation.after.empty() ? activation.stored : activation.after;
}

// The real values of the activations without a counterpart, by their place in the list.
std::map<std::size_t, Tensor> unmatched_values(const Model& model,
                                               const std::vector<QuantizedActivation>& activations,
                                               const std::vector<Counterpart>& counterparts,
                                               const std::vector<Tensor>& sample,
                                               OrtOptions runtime) {
  std::multimap<std::string, std::size_t> wanted;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < activations.size(); ++i)
    if (counterparts[i].match == CounterpartMatch::none) {
      wanted.emplace(watched_name(activations[i]), i);
      names.push_back(watched_name(activations[i]));
    }
  runtime.watch = Watch::only(names);
  std::map<std::size_t, Tensor> values;
  OrtRunner(model.clone(), runtime).run(sample, [&](const TensorView& tensor) {
    const auto [first, last] = wanted.equal_range(std::string(tensor.name));
    for (auto entry = first; entry != last; ++entry) {
      const QuantizedActivation& activation = activations[entry->second];
      values[entry->second] =
          activation.after.empty() ? dequantize(tensor, activation.quantizer) : copy(tensor);
    }
  });
  return values;
}

}  // namespace

std::vector<Counterpart> match_by_value(const Model& float_model, const Model& quantized_model,
                                        const std::vector<QuantizedActivation>& activations,
                                        std::vector<Counterpart> counterparts,
                                        const std::vector<Tensor>& sample,
                                        const OrtOptions& runtime) {
  if (std::ranges::none_of(counterparts, [](const Counterpart& counterpart) {
        return counterpart.match == CounterpartMatch::none;
      }))
    return counterparts;
  const auto values = unmatched_values(quantized_model, activations, counterparts, sample, runtime);
  std::unordered_set<std::string> taken;
  for (const Counterpart& counterpart : counterparts) taken.insert(counterpart.tensor);

  OrtOptions watching = runtime;
  watching.watch = Watch::all();
  OrtRunner runner(float_model.clone(), watching);
  const InputBindings bindings = bind_inputs(quantized_model.inputs(), runner.inputs());
  std::map<std::size_t, double> best;
  runner.run(apply_bindings(bindings, runner.inputs(), sample), [&](const TensorView& tensor) {
    if (!is_float(tensor.dtype) || taken.contains(std::string(tensor.name))) return;
    for (const auto& [index, value] : values) {
      if (value.size() != tensor.size() || tensor.size() < 2) continue;
      const double found_db = sqnr_db(measure_noise(tensor, value));
      if (!(found_db >= value_match_db) || (best.contains(index) && best[index] >= found_db))
        continue;
      best[index] = found_db;
      counterparts[index] = {std::string(tensor.name), CounterpartMatch::value};
    }
  });
  return counterparts;
}

}  // namespace vernier
