#include "vernier/analysis/quantize/alone.h"

#include <vernier_onnx.pb.h>

#include "vernier/model/graph.h"

namespace vernier {
namespace {

std::vector<SwitchPoint> points_of(const Model& model, const PlacementPlan& plan) {
  std::vector<SwitchPoint> points;
  for (std::size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlacedTensor& placed = plan.tensors[i];
    if (placed.root != i) continue;
    SwitchPoint point{placed.name};
    if (!placed.everywhere)
      for (const ReaderInput& reader : placed.readers)
        point.readers.push_back({node_label(model.graph().node(reader.node)), reader.input});
    points.push_back(std::move(point));
  }
  return points;
}

std::map<std::string, std::size_t> places_of(const std::vector<Switch>& switches) {
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < switches.size(); ++i) places.emplace(switches[i].name, i);
  return places;
}

std::vector<std::vector<Tensor>> first_samples(const SampleRuns& runs, std::int64_t count) {
  std::vector<std::vector<Tensor>> samples;
  for (std::int64_t i = 0; i < std::min(count, std::ssize(runs.indices)); ++i)
    samples.push_back(runs.samples.sample(runs.indices[i]));
  return samples;
}

}  // namespace

QuantizersAlone::QuantizersAlone(const ModelIndex& reference, const PlacementPlan& plan,
                                 const SampleRuns& runs, std::int64_t samples)
    : board_(insert_switches(reference, points_of(reference.model(), plan)), {.threads = 1}),
      noise_(board_, first_samples(runs, samples), runs.threads) {
  switches_ = places_of(board_.switches());
}

std::vector<OutputNoise> QuantizersAlone::measure(std::span<const RangeTrial> trials,
                                                  int bits) const {
  std::vector<SwitchSettings> settings;
  for (const RangeTrial& trial : trials) {
    settings.push_back(board_.all(SwitchSetting::off()));
    settings.back()[switches_.at(trial.tensor)] = SwitchSetting::simulate(
        quantizer_of_range(trial.range.low, trial.range.high, {.bits = bits}, false));
  }
  return noise_.measure_all(settings);
}

}  // namespace vernier
