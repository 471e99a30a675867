// What it costs to see every tensor: runs each model bare, with a probe on every tensor, and with
// every tensor a graph output, each in a process of its own, and prints time and peak memory as
// ratios to the bare run.
//   probe_bench [FOLDER]      models are exported there (bench/export_models.py) on the first run
#include <dlfcn.h>
#include <fmt/format.h>
#define ORT_API_MANUAL_INIT
#include <onnxruntime_cxx_api.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "vernier/model/edit.h"
#include "vernier/runtime/ort_library.h"
#include "vernier/runtime/ort_runner.h"

namespace {

using namespace vernier;

constexpr int rounds = 5;  // processes of each mode, in turn, so that drifts of the machine hit all
constexpr int runs = 9;    // in each process, after one to warm up
constexpr std::array models = {"resnet18", "vit_b_16"};
constexpr std::array modes = {"bare", "probes", "outputs"};

struct Cost {
  double load_seconds = 0;
  double run_seconds = 0;  // the fastest
  double peak_mb = 0;
  long tensors = 0;
};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Tensor image() {
  Tensor tensor = make_tensor("input", DType::f32, {1, 3, 224, 224});
  int index = 0;
  for (float& element : elements<float>(tensor)) element = 0.01f * static_cast<float>(++index % 97);
  return tensor;
}

template <typename Run>
double fastest(const Run& run) {
  run();
  double best = 1e9;
  for (int i = 0; i < runs; ++i) {
    const auto start = std::chrono::steady_clock::now();
    run();
    best = std::min(best, seconds_since(start));
  }
  return best;
}

// Ort:: of this program, for the ONNX Runtime that the library loads.
void use_runtime_of_library() {
  void* const library = dlopen(ort_library().file.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto base = reinterpret_cast<decltype(&OrtGetApiBase)>(dlsym(library, "OrtGetApiBase"));
  Ort::InitApi(base()->GetApi(ORT_API_VERSION));
}

// A plain session made from the file, as any program would.
Cost bare(const std::string& path) {
  const auto start = std::chrono::steady_clock::now();
  use_runtime_of_library();
  const Ort::Env environment;
  Ort::SessionOptions options;
  options.SetGraphOptimizationLevel(ORT_DISABLE_ALL);
  options.SetIntraOpNumThreads(1);
  Ort::Session session(environment, path.c_str(), options);
  Cost cost{.load_seconds = seconds_since(start)};
  Tensor input = image();
  const auto memory = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  const Ort::Value value = Ort::Value::CreateTensor(
      memory, elements<float>(input).data(), input.size(), input.shape.data(), input.shape.size());
  const char* input_name = "input";
  const char* output_name = "logits";
  cost.run_seconds = fastest([&] { session.Run({}, &input_name, &value, 1, &output_name, 1); });
  return cost;
}

// The observer reads one byte of each tensor: what it measures is not part of what seeing costs.
Cost probes(const std::string& path) {
  const auto start = std::chrono::steady_clock::now();
  OrtRunner runner(Model::load(path), {.watch = Watch::all(), .threads = 1});
  Cost cost{.load_seconds = seconds_since(start)};
  const std::vector<Tensor> inputs = {image()};
  volatile std::byte sink{};
  cost.tensors = static_cast<long>(runner.watched().size());
  cost.run_seconds = fastest([&] {
    runner.run(inputs, [&](const TensorView& tensor) {
      if (!tensor.bytes.empty()) sink = tensor.bytes.front();
    });
  });
  return cost;
}

Cost outputs(const std::string& path) {
  const auto start = std::chrono::steady_clock::now();
  Model model = Model::load(path);
  expose_outputs(model, tensor_names(model));
  OrtRunner runner(std::move(model), {.optimization = Optimization::disabled, .threads = 1});
  Cost cost{.load_seconds = seconds_since(start)};
  cost.tensors = static_cast<long>(runner.outputs().size());
  const std::vector<Tensor> inputs = {image()};
  cost.run_seconds = fastest([&] { runner.run(inputs); });
  return cost;
}

double peak_mb() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void child(const std::string& mode, const std::string& path) {
  Cost cost = mode == "bare" ? bare(path) : mode == "probes" ? probes(path) : outputs(path);
  fmt::print("{} {} {} {}\n", cost.load_seconds, cost.run_seconds, peak_mb(), cost.tensors);
}

Cost in_a_process(const std::string& self, const std::string& mode, const std::string& path) {
  FILE* pipe = popen(fmt::format("'{}' --child {} '{}'", self, mode, path).c_str(), "r");
  Cost cost;
  const int read = pipe ? std::fscanf(pipe, "%lf %lf %lf %ld", &cost.load_seconds,
                                      &cost.run_seconds, &cost.peak_mb, &cost.tensors)
                        : 0;
  if (!pipe || pclose(pipe) != 0 || read != 4) {
    fmt::print(stderr, "probe_bench: {} of {} failed\n", mode, path);
    std::exit(2);
  }
  return cost;
}

Cost best_of(const Cost& a, const Cost& b) {
  return {std::min(a.load_seconds, b.load_seconds), std::min(a.run_seconds, b.run_seconds),
          std::min(a.peak_mb, b.peak_mb), a.tensors};
}

void measure(const std::string& self, const std::string& path) {
  std::array<std::optional<Cost>, modes.size()> costs;
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < modes.size(); ++i) {
      const Cost cost = in_a_process(self, modes[i], path);
      costs[i] = costs[i] ? best_of(*costs[i], cost) : cost;
    }
  for (std::size_t i = 0; i < modes.size(); ++i) {
    const Cost& cost = *costs[i];
    const Cost& base = *costs[0];
    fmt::print("{:<10} {:<8} {:>8} {:>8.0f} {:>8.1f} {:>6.3f} {:>8.0f} {:>6.3f}\n",
               std::filesystem::path(path).stem().string(), modes[i],
               cost.tensors ? std::to_string(cost.tensors) : "-", cost.load_seconds * 1000,
               cost.run_seconds * 1000, cost.run_seconds / base.run_seconds, cost.peak_mb,
               cost.peak_mb / base.peak_mb);
  }
}

bool export_models(const std::filesystem::path& folder) {
  const auto missing = [&](const char* name) {
    return !std::filesystem::exists(folder / fmt::format("{}.onnx", name));
  };
  if (std::ranges::none_of(models, missing)) return true;
  fmt::print(stderr, "probe_bench: exporting models to {}\n", folder.string());
  const std::string script = VERNIER_BENCH "/export_models.py";
  for (const char* python : {"python3", "/usr/bin/python3"})
    if (std::system(
            fmt::format("{0} -c 'import torchvision' 2>/dev/null && {0} '{1}' '{2}' 2>/dev/null",
                        python, script, folder.string())
                .c_str()) == 0)
      return true;
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "--child") {
    child(argv[2], argv[3]);
    return 0;
  }
  const std::filesystem::path folder = argc > 1 ? argv[1] : "build/bench_models";
  if (!export_models(folder)) {
    fmt::print(stderr, "probe_bench: no Python with torchvision to export the models with\n");
    return 2;
  }
  const std::string self = std::filesystem::read_symlink("/proc/self/exe");
  fmt::print("{:<10} {:<8} {:>8} {:>8} {:>8} {:>6} {:>8} {:>6}\n", "model", "mode", "tensors",
             "load ms", "run ms", "ratio", "peak MB", "ratio");
  for (const char* name : models) measure(self, folder / fmt::format("{}.onnx", name));
}
