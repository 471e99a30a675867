#include "cli/model_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <iomanip>
#include <map>
#include <set>
#include <sstream>

#include "cli/options.h"
#include "cli/output.h"
#include "vernier/data/npz_batches.h"
#include "vernier/error.h"
#include "vernier/runtime/placement.h"
#include "vernier/tensor/in_process.h"
#include "vernier/tensor/sample_archive.h"

namespace vernier::cli {
namespace {

const std::map<std::string, Optimization> optimizations = {{"off", Optimization::disabled},
                                                           {"basic", Optimization::basic},
                                                           {"extended", Optimization::extended},
                                                           {"all", Optimization::all}};

}  // namespace

CLI::Option* add_model_options(CLI::App& command, ModelOptions& options,
                               const std::string& model_help, const std::string& more_model_names,
                               const std::string& more_reference_names) {
  OptionGroup group(command, main_group);
  auto* model =
      group.add("MODEL,-m,--model" + more_model_names, options.models, model_help, "MODEL");
  group.add("REFERENCE,--reference" + more_reference_names, options.reference,
            "What it was made from: .onnx, TorchScript .pt, a PyTorch model (FILE.py:FUNCTION, "
            "hf:ID, timm:NAME, .pt2), or recorded .npz (not needed for an export or a model id)",
            "MODEL");
  return model;
}

void add_model_id_options(CLI::App& command, ModelIdOptions& options) {
  OptionGroup group(command, "Models by id");
  if (!command.get_option_no_throw("--task"))
    group.add("--task", options.task, "What the model is for; a Hugging Face id needs it", "TASK");
  group.add(
      "--python", options.python,
      "Interpreter to export with, and to run a PyTorch model in (default: that of the active "
      "environment, or the first that has PyTorch)",
      "PROGRAM");
  group.flag("--rebuild", options.rebuild, "Export again what is in the cache");
}

namespace {

void add_timeout_option(CLI::App& command, HostOptions& host) {
  OptionGroup(command, "Models by id")
      .each(
          "--host-timeout",
          [&host](const std::string& text) {
            host.timeout = std::chrono::seconds(std::stoll(text));
          },
          "Stop waiting for a Python model that is silent this long (default: 300)", "SECONDS")
      ->check(at_least(1));
}

// The first row of each array. The arrays are named like the model's inputs.
std::vector<Tensor> first_sample(const std::filesystem::path& data) {
  const SampleArchive archive(data);
  std::vector<TensorSpec> inputs;
  for (const std::string& name : archive.names()) inputs.push_back({.name = name, .ranked = false});
  return npz_batches(data, inputs).samples->sample(0);
}

}  // namespace

void add_host_options(CLI::App& command, ModelOptions& options) {
  OptionGroup(command, "Models by id")
      .add("--reference-model", options.reference_model,
           "Model class for a --reference that is a weights file (.pth): FILE.py:CLASS", "MODEL");
  add_timeout_option(command, options.host);
}

void add_operators_option(CLI::App& command, HostOptions& host) {
  OptionGroup(command, "Models by id")
      .each_flag(
          "--ops", [&host] { host.watch = HostWatch::operators; },
          "Compare every operator, not only leaf modules (PyTorch)");
}

void add_live_model_options(CLI::App& command, ModelIdOptions& id, HostOptions& host) {
  OptionGroup group(command, "Models by id");
  group.add("--task", id.task, "What a Hugging Face model is for, if its files do not say", "TASK");
  group.add("--python", id.python, "Interpreter to run a PyTorch model in", "PROGRAM");
  add_timeout_option(command, host);
  add_operators_option(command, host);
}

HostOptions own_host(HostOptions host, const ModelIdOptions& id, const InputSpec& inputs) {
  host.python = id.python;
  host.task = id.task;
  if (!inputs.data.empty()) host.example = first_sample(inputs.data);
  return host;
}

std::filesystem::path resolve_reference(const ModelOptions& options, const ResolvedModel& model) {
  if (options.reference_model.empty()) return resolve_reference(options.reference, model);
  if (options.reference.empty())
    throw Error("[model] --reference-model: pass the file of its weights as --reference");
  if (!is_host_source(options.reference_model))
    throw Error(fmt::format("[model] --reference-model {}: expected FILE.py:CLASS",
                            options.reference_model));
  return options.reference_model;
}

std::filesystem::path find_reference(const ModelOptions& options, const ResolvedModel& model) {
  const bool is_named = !options.reference.empty() || !options.reference_model.empty();
  return is_named ? resolve_reference(options, model) : model.reference;
}

HostOptions host_options(const ModelOptions& options, const ResolvedModel& model) {
  HostOptions host = options.host;
  if (options.reference.empty()) {
    host.weights = model.host.weights;
    host.seed = model.host.seed;
  }
  host.python = options.id.python;
  host.task = options.id.task;
  if (host.task.empty() && options.reference.empty()) host.task = model.host.task;
  if (!options.reference_model.empty()) host.weights = options.reference;
  return host;
}

void add_runtime_options(CLI::App& command, RuntimeOptions& options) {
  OptionGroup group(command, "Runtime");
  group.add("--ep", options.provider, "Execution provider of ONNX Runtime", "NAME")
      ->capture_default_str();
  group.add("--ep-option", options.provider_options, "Option of the execution provider; repeatable",
            "KEY=VALUE");
  group.choice(
      "--optimize", options.optimize,
      "Graph optimisation level (default: off while intermediate tensors are watched, else "
      "all)",
      {"off", "basic", "extended", "all"});
  group.flag("--exact", options.exact,
             "Compute integer products exactly, on every CPU: no kernel that saturates, "
             "no optimisation between quantizers");
  add_threads_option(command, options.threads);
}

RunnerOptions runner_options(const RuntimeOptions& options) {
  RunnerOptions runner;
  runner.onnx.provider = options.provider;
  for (const std::string& text : options.provider_options) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos)
      throw Error(fmt::format("[runtime] --ep-option {}: expected KEY=VALUE", text));
    runner.onnx.provider_options[text.substr(0, equals)] = text.substr(equals + 1);
  }
  if (!options.optimize.empty()) runner.onnx.optimization = optimizations.at(options.optimize);
  runner.onnx.exact = options.exact;
  runner.onnx.threads = runner.torch.threads = options.threads;
  return runner;
}

namespace {

// The source without folders: those of a file or folder, or of each word of a command.
std::string host_name(const std::string& source) {
  if (is_in_process(source) || source.find(".py:") != std::string::npos || source.ends_with(".pt2"))
    return std::filesystem::path(source).filename();
  if (source.starts_with("hf:") && std::filesystem::is_directory(source.substr(3)))
    return "hf:" + std::filesystem::path(source.substr(3)).filename().string();
  if (!source.starts_with("host:")) return source;
  std::istringstream words(source.substr(5));
  std::vector<std::string> names;
  for (std::string word; words >> std::quoted(word, '\'');)
    names.push_back(std::filesystem::path(word).filename());
  return fmt::format("host:{}", fmt::join(names, " "));
}

}  // namespace

std::string display_name(const std::filesystem::path& model) {
  return is_host_source(model.string()) ? host_name(model.string()) : model.filename().string();
}

void describe_host(RunDescription& run,
                   const std::vector<std::pair<std::string, std::string>>& versions,
                   const std::string& fact) {
  std::vector<std::string> texts;
  for (const auto& [name, version] : versions) texts.push_back(fmt::format("{} {}", name, version));
  if (!texts.empty()) run.settings.emplace_back(fact, fmt::format("{}", fmt::join(texts, ", ")));
}

RunDescription describe_run(const std::string& command, const ResolvedModel& candidate,
                            const std::filesystem::path& reference, const RuntimeOptions& runtime) {
  const auto has_format = [&](ModelFormat format) {
    return std::ranges::any_of(std::array{candidate.model, reference}, [&](const auto& path) {
      return !path.empty() && std::filesystem::exists(path) && model_format(path) == format;
    });
  };
  const bool onnx = has_format(ModelFormat::onnx);
  RunDescription run{
      .command = command,
      .candidate = candidate.name,
      .reference = display_name(reference),
      .device = onnx ? runtime.provider : "",
      .runtimes = {.onnxruntime = onnx, .torch = has_format(ModelFormat::torchscript)}};
  if (runtime.exact) run.settings.emplace_back("arithmetic", std::string("exact"));
  if (!runtime.optimize.empty()) run.settings.emplace_back("optimize", runtime.optimize);
  return run;
}

void describe_placement(RunDescription& run, const Model& model, const RuntimeOptions& runtime,
                        Samples& samples) {
  if (is_cpu(runtime.provider)) return;
  Placement placed;
  try {
    placed = placement(model, runner_options(runtime).onnx, samples.sample(0));
  } catch (const Error& error) {  // the result is valid without it
    return print_warnings(
        std::array{fmt::format("which provider computed what is not known: {}", error.what())});
  }
  std::vector<std::string> texts;
  for (const auto& [provider, operators] : placed) {
    const std::set<std::string> kinds(operators.begin(), operators.end());
    texts.push_back(fmt::format("{}: {} ({})", provider, operators.size(), fmt::join(kinds, ", ")));
    if (is_cpu(provider))
      print_warnings(
          std::array{fmt::format("{} of the nodes that run are computed on the cpu, not on {}: {}",
                                 operators.size(), runtime.provider, fmt::join(kinds, ", "))});
  }
  run.settings.emplace_back("nodes_on", std::move(texts));
}

}  // namespace vernier::cli
