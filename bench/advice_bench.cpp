// How good the sets of nodes are that `debug` advises to keep in float: chosen on the first
// samples, judged on the next ones, beside the first nodes of the usual rankings. Figures are of
// the output.
//   advice_bench QUANTIZED.onnx FLOAT.onnx DATA.npz SAMPLES [FIRST]
// SAMPLES choose, as many judge; FIRST is where the first of them is in the file.
#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "vernier/analysis/debug/plan.h"
#include "vernier/analysis/debug/switch_groups.h"
#include "vernier/analysis/evidence/switched_models.h"
#include "vernier/data/npz_batches.h"

namespace {

using namespace vernier;

constexpr std::size_t sizes[] = {1, 2, 3, 5, 8};

std::vector<std::vector<Tensor>> read(Samples& samples, std::int64_t first, std::int64_t count) {
  std::vector<std::vector<Tensor>> result;
  for (std::int64_t i = 0; i < count; ++i) result.push_back(samples.sample(first + i));
  return result;
}

SwitchedModel switched_model(const Model& reference, const Model& candidate,
                             const std::vector<Tensor>& sample) {
  const ModelIndex float_index(reference), quantized_index(candidate);
  const Quantization quantization = require_quantization(float_index, quantized_index);
  const DebugPlan plan = make_plan(float_index, quantized_index, quantization, sample, {});
  std::vector<std::optional<ClipRange>> folded;
  for (std::size_t i = 0; i < quantization.activations.size(); ++i)
    folded.push_back(plan.tensors[i].folded);
  return switch_quantizers(float_index, quantized_index, quantization, folded);
}

struct Rows {
  const SwitchedGroups& model;
  const SwitchedNoise &choosing, &judging;

  void print(const std::string& name, const std::vector<GroupSet>& sets) const {
    std::string line = fmt::format("{:<10}", name);
    for (const GroupSet& set : sets)
      line += fmt::format(
          " {:6.2f}",
          noise_db(judging.measure(model.with(model.as_in_file, set, model.off)).total()));
    fmt::print("{}\n", line);
    std::fflush(stdout);
  }

  void print_prefixes(const std::string& name, const std::vector<double>& scores) const {
    const GroupSet order = ranked(scores.size(), [&](std::size_t i) { return scores[i]; });
    std::vector<GroupSet> sets;
    for (const std::size_t size : sizes)
      sets.emplace_back(order.begin(),
                        order.begin() + std::ptrdiff_t(std::min(size, order.size())));
    print(name, sets);
  }

  std::vector<double> measure(const SwitchSettings& base, const SwitchSettings& changed) const {
    std::vector<SwitchSettings> settings;
    for (std::size_t i = 0; i < model.groups.size(); ++i)
      settings.push_back(model.with(base, {i}, changed));
    std::vector<double> totals;
    for (const OutputNoise& each : choosing.measure_all(settings)) totals.push_back(each.total());
    return totals;
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    fmt::print(stderr, "usage: advice_bench QUANTIZED.onnx FLOAT.onnx DATA.npz SAMPLES [FIRST]\n");
    return 2;
  }
  const Model candidate = Model::load(argv[1]), reference = Model::load(argv[2]);
  const auto samples = npz_batches(argv[3], candidate.inputs()).samples;
  const std::int64_t count = std::stoll(argv[4]), first = argc > 5 ? std::stoll(argv[5]) : 0;
  Switchboard board(switched_model(reference, candidate, samples->sample(0)),
                    {.exact = true, .threads = 1});
  const SwitchedNoise choosing(board, read(*samples, first, count), 0),
      judging(board, read(*samples, first + count, count), 0);
  SwitchedGroups model{.switches = board.switches(),
                       .groups = group_by_node(board.switches(), {}),
                       .as_in_file = board.all(SwitchSetting::as_in_file()),
                       .off = board.all(SwitchSetting::off())};
  const Rows rows{model, choosing, judging};
  fmt::print("{} nodes, as in the file {:.2f} and {:.2f} dB\n{:<10}", model.groups.size(),
             noise_db(choosing.measure(model.as_in_file).total()),
             noise_db(judging.measure(model.as_in_file).total()), "");
  for (const std::size_t size : sizes) fmt::print(" {:>6}", size);
  fmt::print("\n");
  GroupSignals& signals = model.signals;
  signals = {.alone_on = rows.measure(model.off, model.as_in_file),
             .off_alone = rows.measure(model.as_in_file, model.off),
             .all_on = choosing.measure(model.as_in_file).total()};
  std::vector<double> gained, both;
  for (std::size_t i = 0; i < model.groups.size(); ++i) {
    gained.push_back(-signals.off_alone[i]);
    both.push_back(signals.alone_on[i] - signals.off_alone[i]);
  }
  rows.print_prefixes("alone on", signals.alone_on);
  rows.print_prefixes("off alone", gained);
  rows.print_prefixes("both", both);
  signals.chains = find_chains(model, choosing);
  std::vector<GroupSet> advised;
  for (const GroupSet& set : choose_sets(model, choosing, choosing, model.off))
    if (std::ranges::count(sizes, set.size()) > 0) advised.push_back(set);
  rows.print("advised", advised);
}
