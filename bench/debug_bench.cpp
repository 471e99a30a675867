// What it costs to debug a quantized model: runs both models bare, and then through `debug`, each
// in a process of its own, and prints time and peak memory as ratios to the bare runs.
//   debug_bench FLOAT.onnx [QUANT.onnx] [SAMPLES] [THREADS]
// Without a quantized model, one is made of the float model. Both have as many threads as there are
// cores, or THREADS: in the bare runs each model, as they run one after the other.
#include <fmt/format.h>

#include <cstdlib>
#include <set>
#include <string>

#include "bench/child_process.h"
#include "bench/quantize_model.h"
#include "vernier/analysis/debug/debug.h"
#include "vernier/analysis/inputs/bind_inputs.h"
#include "vernier/data/random.h"
#include "vernier/model/index.h"
#include "vernier/runtime/ort_runner.h"

namespace {

using namespace vernier;

// Short runs are repeated more often: what disturbs them lasts longer than they do.
constexpr int min_rounds = 3, max_rounds = 20;
constexpr double enough_seconds = 4;

struct Job {
  std::string mode;  // "bare" or "debug"
  std::string float_model;
  std::string quantized_model;
  int samples = 8;
  int threads = 0;
};

// Both models, one after the other, on every sample.
void run_bare(const Model& float_model, const Model& quantized_model, Samples& samples,
              int threads) {
  const OrtOptions options{.optimization = Optimization::disabled, .threads = threads};
  OrtRunner reference(float_model.clone(), options), candidate(quantized_model.clone(), options);
  const InputBindings bindings = bind_inputs(candidate.inputs(), reference.inputs());
  for (std::int64_t i = 0; i < samples.size(); ++i) {
    const std::vector<Tensor> sample = samples.sample(i);
    reference.run(apply_bindings(bindings, reference.inputs(), sample));
    candidate.run(sample);
  }
}

void run_job(const Job& job) {
  const Model float_model = Model::load(job.float_model);
  const Model quantized_model = Model::load(job.quantized_model);
  const auto samples = random_samples(quantized_model.inputs(), {.samples = job.samples});
  if (job.mode == "bare")
    run_bare(float_model, quantized_model, *samples, job.threads);
  else
    debug(ModelIndex(float_model), ModelIndex(quantized_model), *samples,
          {.runtime = {.threads = job.threads}});
}

Cost cost_of(const Job& job) {
  return in_a_process(fmt::format("--child {} '{}' '{}' {} {}", job.mode, job.float_model,
                                  job.quantized_model, job.samples, job.threads));
}

void measure(Job job) {
  Cost bare{1e9, 1e9, 1e9}, debugged = bare;
  double seconds = 0;
  for (int round = 0; round < min_rounds || (round < max_rounds && seconds < enough_seconds);
       ++round) {
    job.mode = "bare";
    const Cost without = cost_of(job);
    job.mode = "debug";
    const Cost with = cost_of(job);
    bare = best(bare, without);
    debugged = best(debugged, with);
    seconds += without.wall_seconds + with.wall_seconds;
  }
  fmt::print(
      "{:>4} samples: bare {:.3f} s, {:.3f} s cpu, {:.0f} MB; debug {:.2f}x, {:.2f}x cpu, {:.2f}x "
      "memory\n",
      job.samples, bare.wall_seconds, bare.cpu_seconds, bare.peak_mb,
      debugged.wall_seconds / bare.wall_seconds, debugged.cpu_seconds / bare.cpu_seconds,
      debugged.peak_mb / bare.peak_mb);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 7 && std::string(argv[1]) == "--child") {
    const Job job{argv[2], argv[3], argv[4], std::atoi(argv[5]), std::atoi(argv[6])};
    report_cost([&] { run_job(job); });
    return 0;
  }
  if (argc < 2) {
    fmt::print(stderr, "usage: debug_bench FLOAT.onnx [QUANT.onnx] [SAMPLES] [THREADS]\n");
    return 2;
  }
  const std::string float_model = argv[1];
  int next = 2;
  std::string quantized_model = float_model + ".int8.onnx";
  if (argc > next && std::string(argv[next]).ends_with(".onnx"))
    quantized_model = argv[next++];
  else
    bench::Quantizer(Model::load(float_model)).run().save(quantized_model);
  const int samples = argc > next ? std::atoi(argv[next++]) : 64;
  const int threads = argc > next ? std::atoi(argv[next]) : 0;
  for (const int count : std::set{1, 8, samples})
    measure({"", float_model, quantized_model, count, threads});
}
