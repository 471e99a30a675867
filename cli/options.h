#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include "vernier/analysis/baseline.h"
#include "vernier/analysis/inputs/inputs.h"
#include "vernier/analysis/model_argument.h"
#include "vernier/analysis/task/judge.h"
#include "vernier/report/envelope.h"
#include "vernier/runtime/open_runner.h"

namespace vernier::cli {

// Groups of options that several commands share. `--help` shows the options of the group "Options";
// `--help-all` those of the other groups as well.
inline constexpr const char* main_group = "Options";
inline constexpr const char* dataset_group = "Dataset";  // options that need --dataset

// Adds options of one group to a command. Numbers show their defaults.
class OptionGroup {
 public:
  OptionGroup(CLI::App& command, std::string name) : command_(command), name_(std::move(name)) {}

  template <typename T>
  CLI::Option* add(const std::string& names, T& value, const std::string& help,
                   const std::string& type = "") {
    CLI::Option* option = command_.add_option(names, value, help)->allow_extra_args(false);
    if constexpr (std::is_arithmetic_v<T>) option->capture_default_str();
    if (!type.empty()) option->type_name(type);
    return option->group(name_);
  }
  // An option that may be repeated; `take` gets each of its values.
  template <typename Take>
  CLI::Option* each(const std::string& names, Take take, const std::string& help,
                    const std::string& type) {
    const auto take_all = [take](const std::vector<std::string>& texts) {
      for (const std::string& text : texts) take(text);
    };
    return command_.add_option_function<std::vector<std::string>>(names, take_all, help)
        ->allow_extra_args(false)
        ->type_name(type)
        ->group(name_);
  }
  CLI::Option* each_flag(const std::string& names, std::function<void()> act,
                         const std::string& help) {
    return command_.add_flag_callback(names, std::move(act), help)->group(name_);
  }
  CLI::Option* flag(const std::string& names, bool& value, const std::string& help) {
    return command_.add_flag(names, value, help)->group(name_);
  }

 private:
  CLI::App& command_;
  std::string name_;
};

// A whole number of at least `least`.
CLI::Validator at_least(std::int64_t least);
// Finite numbers above 0, and from 0 on.
CLI::Validator above_zero();
CLI::Validator from_zero();

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

// --samples --input-data --dataset --shape; of the group "Inputs": --sample-index --seed
// --input-range --input-dist; and those of datasets.
void add_input_options(CLI::App& command, InputSpec& spec,
                       const std::string& data_names = "--input-data,--data");

// A text that decoders are fed.
struct TextInput {
  std::string file, tokenizer;
  std::int64_t block_length = 128;
};
// --text --tokenizer --block-length
void add_text_options(CLI::App& command, TextInput& text);
// --at
void add_token_places(CLI::App& command, InputSpec& spec);
// The text as tokens, where one was given: by --tokenizer, or the one beside the model.
void read_text(const TextInput& text, const std::filesystem::path& model, const std::string& python,
               InputSpec& spec);

// --set, for commands that run one model.
void add_constant_options(CLI::App& command, IoMapping& io);
// --map-input --map-output --set, for those that run two.
void add_io_options(CLI::App& command, IoMapping& io);

// Adds what the mapping says to the settings of a report.
void describe_io(const IoMapping& io, RunDescription& run);

// --label-mapping, for commands that look at labels.
void add_label_options(CLI::App& command, DatasetSpec& spec);

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

// --fail-if
void add_limit_options(CLI::App& command, std::vector<std::string>& fail_if,
                       const std::string& help);

// --baseline --update-baseline: figures that were accepted before, and that this run is held
// against.
struct BaselineOptions {
  std::string file;
  bool update = false;
};
void add_baseline_options(CLI::App& command, BaselineOptions& options);

// What --fail-if and the baseline ask for.
std::vector<Limit> limits_in_force(std::span<const std::string> fail_if,
                                   const BaselineOptions& baseline,
                                   std::span<const std::string> metrics);

// Writes the file that --update-baseline asks for.
template <typename Result>
void update_baseline(const BaselineOptions& options, const Result& result) {
  if (options.update && !result.interrupted) write_baseline(options.file, baseline_of(result));
}

// --verdict --two-sided --resamples: how the scores of a task are judged.
void add_judgement_options(CLI::App& command, JudgeOptions& options, const std::string& group);

// --temperature --pooling: how embeddings are made and searched.
void add_embedding_options(CLI::App& command, KnnOptions& task, std::string& pooling,
                           const std::string& group);

}  // namespace vernier::cli
