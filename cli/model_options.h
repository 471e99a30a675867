#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "vernier/analysis/inputs/inputs.h"
#include "vernier/analysis/model_argument.h"
#include "vernier/report/envelope.h"
#include "vernier/runtime/open_runner.h"

namespace vernier::cli {

// Options for the models of a command and how they run.

// The candidate and the reference of a command.
struct ModelOptions {
  std::vector<std::string> models;  // one path, or the components of a composite model
  std::string reference;
  std::string reference_model;  // the model, if `reference` is a file of weights
  HostOptions host;             // for a reference that a host runs
  ModelIdOptions id;
};

// MODEL or -m, and --reference, each with the command's additional names. Returns the option MODEL.
CLI::Option* add_model_options(CLI::App& command, ModelOptions& options,
                               const std::string& model_help,
                               const std::string& more_model_names = "",
                               const std::string& more_reference_names = "");

// --python --rebuild, and --task unless the command has it already.
void add_model_id_options(CLI::App& command, ModelIdOptions& options);

// --reference-model --host-timeout, for a reference that a host runs.
void add_host_options(CLI::App& command, ModelOptions& options);

// --ops
void add_operators_option(CLI::App& command, HostOptions& host);

// --task --python --host-timeout --ops, for a single model that a host runs.
void add_live_model_options(CLI::App& command, ModelIdOptions& id, HostOptions& host);

// The options of a host that runs a single model. Its example is the first sample of --input-data,
// else the host's own.
HostOptions own_host(HostOptions host, const ModelIdOptions& id, const InputSpec& inputs);

// The name of a model in reports, without folders.
std::string display_name(const std::filesystem::path& model);

// The reference that the options name, else that of the resolved model. With --reference-model, the
// model that the weights belong to.
std::filesystem::path resolve_reference(const ModelOptions& options, const ResolvedModel& model);

// The same; empty if the options and the resolved model name none.
std::filesystem::path find_reference(const ModelOptions& options, const ResolvedModel& model);

// The options of a host that runs the reference.
HostOptions host_options(const ModelOptions& options, const ResolvedModel& model);

// Options of the runtime.
struct RuntimeOptions {
  std::string provider = "cpu";
  std::vector<std::string> provider_options;  // KEY=VALUE
  std::string optimize;                       // if empty, the runner chooses
  bool exact = false;
  int threads = 0;
};

// --ep --ep-option --optimize --exact --threads
void add_runtime_options(CLI::App& command, RuntimeOptions& options);

// Runner options for every model format; the caller sets what to watch.
RunnerOptions runner_options(const RuntimeOptions& options);

// The description of the run for the report; `reference` may be empty.
RunDescription describe_run(const std::string& command, const ResolvedModel& candidate,
                            const std::filesystem::path& reference, const RuntimeOptions& runtime);

// Adds the versions that a host reported, "python 3.11.2, torch 2.13.0", under the name `fact`.
// Does nothing if there are none.
void describe_host(RunDescription& run,
                   const std::vector<std::pair<std::string, std::string>>& versions,
                   const std::string& fact = "reference_runs_in");

// If the execution provider is not the CPU's, adds the operators that each provider computes, and
// warns about those that fell back to the CPU.
void describe_placement(RunDescription& run, const Model& model, const RuntimeOptions& runtime,
                        Samples& samples);

}  // namespace vernier::cli
