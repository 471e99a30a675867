// What it costs to diagnose: runs both models bare on the samples, and then through `diagnose`,
// each in a process of its own, and prints the ratio, and how long each question took.
//   diagnose_bench CANDIDATE.onnx REFERENCE.onnx [DATA.npz]
//   diagnose_bench FOLDER        the pairs of a folder like ../shared/data
// Without data the bare runs are fed random samples; what diagnose makes up costs it as well.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/child_process.h"
#include "vernier/analysis/diagnosis/diagnosis.h"
#include "vernier/analysis/inputs/bind_inputs.h"
#include "vernier/analysis/inputs/inputs.h"
#include "vernier/runtime/ort_runner.h"

namespace {

using namespace vernier;
namespace fs = std::filesystem;

constexpr int rounds = 3;
constexpr std::int64_t made_up_samples = 64;

struct Job {
  std::string mode;  // "bare" or "diagnose"
  std::string candidate, reference, data;
};

InputSpec spec_of(const Job& job) {
  InputSpec spec;
  if (job.data.empty()) spec.samples = made_up_samples;  // else diagnose may make fewer
  spec.data = job.data;
  return spec;
}

// Both models, one after the other, on every sample, as they are deployed.
void run_bare(const Job& job) {
  const Model model = Model::load(job.candidate);
  const Inputs inputs = make_inputs(model, spec_of(job));
  OrtRunner reference(Model::load(job.reference), {}), candidate(model.clone(), {});
  const InputBindings bindings = bind_inputs(candidate.inputs(), reference.inputs());
  for (std::int64_t i = 0; i < inputs.samples->size(); ++i) {
    const std::vector<Tensor> sample = inputs.samples->sample(i);
    reference.run(apply_bindings(bindings, reference.inputs(), sample));
    candidate.run(sample);
  }
}

void run_diagnose(const Job& job) {
  auto before = std::chrono::steady_clock::now();
  std::string asked = "start", times;
  const auto end = [&](const std::string& next) {
    const auto now = std::chrono::steady_clock::now();
    times += fmt::format(" {} {:.2f}", asked, std::chrono::duration<double>(now - before).count());
    before = now;
    asked = next;
  };
  DiagnosisOptions options;
  options.asking = [&](Question question) {
    end(std::string(question_name(question)));
    return Progress();
  };
  const DiagnosisResult result = diagnose(job.reference, job.candidate, spec_of(job), options);
  end("");
  fmt::print(stderr, "  {}, {}:{}\n", diagnosed_cause_name(result.cause),
             result.compare ? result.compare->samples : 0, times);
}

Cost cost_of(const Job& job) {
  return in_a_process(
      fmt::format("--child {} '{}' '{}' '{}'", job.mode, job.candidate, job.reference, job.data));
}

void measure(Job job) {
  Cost bare{1e9, 1e9, 1e9}, diagnosed = bare;
  for (int round = 0; round < rounds; ++round) {
    job.mode = "bare";
    bare = best(bare, cost_of(job));
    job.mode = "diagnose";
    diagnosed = best(diagnosed, cost_of(job));
  }
  fmt::print("{} beside {}: bare {:.2f} s, {:.2f} s cpu; diagnose {:.2f} s, {:.1f}x, {:.1f}x cpu\n",
             fs::path(job.candidate).filename().string(),
             fs::path(job.reference).filename().string(), bare.wall_seconds, bare.cpu_seconds,
             diagnosed.wall_seconds, diagnosed.wall_seconds / bare.wall_seconds,
             diagnosed.cpu_seconds / bare.cpu_seconds);
  std::fflush(stdout);
}

std::vector<Job> jobs_in(const std::string& folder) {
  const std::string mnist = folder + "/mnist/", wild = folder + "/wild/";
  return {{"", mnist + "mnist_cnn.int8.onnx", mnist + "mnist_cnn.onnx", mnist + "mnist_inputs.npz"},
          {"", mnist + "mnist_vit.int8.onnx", mnist + "mnist_vit.onnx", mnist + "mnist_inputs.npz"},
          {"", wild + "cifar/resnet_int8_static.onnx", wild + "cifar/resnet_fp32.onnx", ""},
          {"", wild + "cifar/tinycnn_int8_qoperator.onnx", wild + "cifar/tinycnn.onnx", ""},
          {"", wild + "steel/v1_int8_qdq.onnx", wild + "steel/v1_fp32.onnx", ""},
          {"", wild + "steel/v2_int8_qoperator.onnx", wild + "steel/v1_fp32.onnx", ""},
          {"", wild + "stale/shipped.onnx", wild + "stale/exported.onnx", ""},
          {"", wild + "face/rfb320_simplified.onnx", wild + "face/rfb320.onnx", ""},
          {"", wild + "face/slim320.onnx", wild + "face/rfb320.onnx", ""}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 6 && std::string(argv[1]) == "--child") {
    const Job job{argv[2], argv[3], argv[4], argv[5]};
    report_cost([&] { job.mode == "bare" ? run_bare(job) : run_diagnose(job); });
    return 0;
  }
  if (argc < 2) {
    fmt::print(stderr, "usage: diagnose_bench CANDIDATE.onnx REFERENCE.onnx [DATA.npz] | FOLDER\n");
    return 2;
  }
  std::vector<Job> jobs;
  if (argc == 2)
    jobs = jobs_in(argv[1]);
  else
    jobs.push_back({"", argv[1], argv[2], argc > 3 ? argv[3] : ""});
  for (const Job& job : jobs) measure(job);
}
