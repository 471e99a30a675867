// What a layer-by-layer validation costs: opens PyTorch and ONNX Runtime and runs samples through
// each, and then does the same through `validate_layers`, each in a process of its own, and prints
// time and peak memory as ratios to the bare runs. A reference that a host runs counts with the
// host.
//   layers_bench MODEL.onnx MODEL.pt [LABEL [SAMPLES]]
//   VIRTUAL_ENV=.deps/torch2 layers_bench bert.onnx bench/host_models.py:bert_base bert 8
#include <fmt/format.h>

#include <cstdlib>
#include <string>

#include "bench/child_process.h"
#include "vernier/analysis/layers/layers.h"
#include "vernier/data/random.h"
#include "vernier/model/index.h"
#include "vernier/runtime/open_runner.h"

namespace {

using namespace vernier;

constexpr int rounds = 3;

struct Job {
  std::string mode;  // "bare", "activations" or "layers"
  std::string candidate;
  std::string reference;
  std::string samples = "1";
};

// PyTorch and then ONNX Runtime, both open; with `keep` as well every layer of PyTorch at once.
void run_bare(const Model& candidate, const Job& job, Samples& samples, bool keep) {
  RunnerOptions options;
  options.torch.watch_leaves = keep;
  options.host = described_by({}, samples.sample(0), candidate.outputs());
  if (keep) options.host.watch = HostWatch::layers;
  const auto reference = open_runner(job.reference, options);
  OrtRunner runner(candidate.clone(), {.optimization = Optimization::disabled});
  for (std::int64_t i = 0; i < samples.size(); ++i) {
    const std::vector<Tensor> sample = samples.sample(i);
    std::vector<Tensor> kept;
    const Observer observer = [&](const TensorView& tensor) { kept.push_back(copy(tensor)); };
    reference->run(sample, keep ? observer : Observer());
    runner.run(sample);
  }
}

void run_job(const Job& job) {
  const Model candidate = Model::load(job.candidate);
  const auto samples = random_samples(candidate.inputs(), {.samples = std::stoll(job.samples),
                                                           .distribution = Distribution::normal});
  if (job.mode == "layers")
    validate_layers(ModelIndex(candidate), *samples, {.reference = job.reference, .tolerance = 1});
  else
    run_bare(candidate, job, *samples, job.mode == "activations");
}

Cost cost_of(const Job& job, const std::string& mode) {
  return in_a_process(
      fmt::format("--child {} '{}' '{}' {}", mode, job.candidate, job.reference, job.samples));
}

void measure(const Job& job, const std::string& label) {
  Cost bare{1e9, 1e9, 1e9}, activations = bare, layers = bare;
  for (int round = 0; round < rounds; ++round) {
    bare = best(bare, cost_of(job, "bare"));
    activations = best(activations, cost_of(job, "activations"));
    layers = best(layers, cost_of(job, "layers"));
  }
  fmt::print(
      "{}: bare {:.2f} s, {:.2f} s cpu, {:.0f} MB, with one side's activations {:.0f} MB; layers "
      "{:.2f}x, {:.2f}x cpu, {:.0f} MB\n",
      label, bare.wall_seconds, bare.cpu_seconds, bare.peak_mb, activations.peak_mb,
      layers.wall_seconds / bare.wall_seconds, layers.cpu_seconds / bare.cpu_seconds,
      layers.peak_mb);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 6 && std::string(argv[1]) == "--child") {
    const Job job{argv[2], argv[3], argv[4], argv[5]};
    report_cost([&] { run_job(job); });
    return 0;
  }
  if (argc < 3) {
    fmt::print(stderr, "usage: layers_bench MODEL.onnx MODEL.pt [LABEL [SAMPLES]]\n");
    return 2;
  }
  measure({"", argv[1], argv[2], argc > 4 ? argv[4] : "1"}, argc > 3 ? argv[3] : argv[1]);
}
