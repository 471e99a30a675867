#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "vernier/analysis/baseline.h"
#include "vernier/analysis/task/judge.h"

namespace vernier::cli {

// Option groups that several commands share. `--help` shows the group "Options"; `--help-all` shows
// all groups.
inline constexpr const char* main_group = "Options";

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
  // An option that takes one of these values, and shows its default.
  template <typename T>
  CLI::Option* choice(const std::string& names, T& value, const std::string& help,
                      const std::vector<std::string>& choices) {
    return add(names, value, help)->check(CLI::IsMember(choices))->capture_default_str();
  }

  // An option that may be repeated; `take` is called with each value.
  template <typename Take>
  CLI::Option* each(const std::string& names, const Take& take, const std::string& help,
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

// --threads
void add_threads_option(CLI::App& command, int& threads, const std::string& group = "Runtime");

// A whole number of at least `least`.
CLI::Validator at_least(std::int64_t least);
// A finite number > 0, and a finite number >= 0.
CLI::Validator above_zero();
CLI::Validator from_zero();

// --fail-if
void add_limit_options(CLI::App& command, std::vector<std::string>& fail_if,
                       const std::string& help);

// --baseline --update-baseline: previously accepted figures that this run is compared with.
struct BaselineOptions {
  std::string file;
  bool update = false;
};
void add_baseline_options(CLI::App& command, BaselineOptions& options);

// The limits of --fail-if and of the baseline.
std::vector<Limit> limits_in_force(std::span<const std::string> fail_if,
                                   const BaselineOptions& baseline,
                                   std::span<const std::string> metrics);

// Writes the baseline file if --update-baseline is set and the run was not interrupted.
template <typename Result>
void update_baseline(const BaselineOptions& options, const Result& result) {
  if (options.update && !result.interrupted) write_baseline(options.file, baseline_of(result));
}

// --verdict --two-sided --resamples: how the scores of a task are judged.
void add_judgement_options(CLI::App& command, JudgeOptions& options, const std::string& group);

// --temperature --pooling: how embeddings are computed and searched.
void add_embedding_options(CLI::App& command, KnnOptions& task, std::string& pooling,
                           const std::string& group);

}  // namespace vernier::cli
