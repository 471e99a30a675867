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

// Which models a command runs, and how.

// The models of a command: what is shipped, and what is trusted.
struct ModelOptions {
  std::vector<std::string> models;  // components of a composite model, else one
  std::string reference;
  std::string reference_model;  // of a reference that is a file of weights
  HostOptions host;             // of a reference that a host runs
  ModelIdOptions id;
};

// MODEL or -m, and --reference, each with other names that a command also takes. Returns MODEL.
CLI::Option* add_model_options(CLI::App& command, ModelOptions& options,
                               const std::string& model_help,
                               const std::string& more_model_names = "",
                               const std::string& more_reference_names = "");

// --python --rebuild, and --task unless the command has it already.
void add_model_id_options(CLI::App& command, ModelIdOptions& options);

// --reference-model --host-timeout: a reference that is run in its own framework.
void add_host_options(CLI::App& command, ModelOptions& options);

// --ops
void add_operators_option(CLI::App& command, HostOptions& host);

// --task --python --host-timeout --ops: a model alone that is run in its own framework.
void add_live_model_options(CLI::App& command, ModelIdOptions& id, HostOptions& host);

// How a host runs a model alone: on the first sample of --input-data, or on an example of its own.
HostOptions own_host(HostOptions host, const ModelIdOptions& id, const InputSpec& inputs);

// What reports call a model: without the folders around it.
std::string display_name(const std::filesystem::path& model);

// The reference of the options, or of the model; of a file of weights, the model they belong to.
std::filesystem::path resolve_reference(const ModelOptions& options, const ResolvedModel& model);

// How a host runs the reference.
HostOptions host_options(const ModelOptions& options, const ResolvedModel& model);

// How models are run.
struct RuntimeOptions {
  std::string provider = "cpu";
  std::vector<std::string> provider_options;  // KEY=VALUE
  std::string optimize;                       // empty: the runner's own choice
  bool exact = false;
  int threads = 0;
};

// --ep --ep-option --optimize --exact --threads
void add_runtime_options(CLI::App& command, RuntimeOptions& options);

// For every kind of model; what is watched is left to the caller.
RunnerOptions runner_options(const RuntimeOptions& options);

// What is run with what, for the report; a path that is empty is not there.
RunDescription describe_run(const std::string& command, const ResolvedModel& candidate,
                            const std::filesystem::path& reference, const RuntimeOptions& runtime);

// Adds what the reference, or as `fact` says the candidate, ran in, if it was a host: "python
// 3.11.2, torch 2.13.0".
void describe_host(RunDescription& run,
                   const std::vector<std::pair<std::string, std::string>>& versions,
                   const std::string& fact = "reference_runs_in");

// Says what each execution provider computes of the model, where one besides the CPU's was asked
// for, and warns of what fell back to the CPU.
void describe_placement(RunDescription& run, const Model& model, const RuntimeOptions& runtime,
                        Samples& samples);

}  // namespace vernier::cli
