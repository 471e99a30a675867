#include "cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <iterator>
#include <thread>

#include "vernier/metrics/pooling.h"

namespace vernier::cli {
namespace {

CLI::Validator number_that(bool (*fits)(double), const std::string& expected) {
  const auto check = [fits, expected](const std::string& text) -> std::string {
    char* end = nullptr;
    const double number = std::strtod(text.c_str(), &end);
    if (!text.empty() && *end == '\0' && std::isfinite(number) && fits(number)) return "";
    return fmt::format("expected a number {}, found {}", expected, text);
  };
  return CLI::Validator(check, "");
}

}  // namespace

CLI::Validator at_least(std::int64_t least) {
  const auto check = [least](const std::string& text) -> std::string {
    std::int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [parsed, error] = std::from_chars(text.data(), end, value);
    if (error == std::errc{} && parsed == end && value >= least) return "";
    return fmt::format("expected a whole number of at least {}, found '{}'", least, text);
  };
  return CLI::Validator(check, "", fmt::format("at_least_{}", least));
}

CLI::Validator above_zero() {
  return number_that([](double number) { return number > 0; }, "above 0");
}

CLI::Validator from_zero() {
  return number_that([](double number) { return number >= 0; }, "of at least 0");
}

// A number of threads: 0 for one for each core; more than there are cores become as many as cores.
static CLI::Validator thread_number() {
  const auto check = [](std::string& text) -> std::string {
    if (std::string reason = at_least(0)(text); !reason.empty()) return reason;
    const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
    if (text.size() > 9 || std::stoul(text) > cores) text = std::to_string(cores);
    return "";
  };
  return CLI::Validator(check, "", "threads");
}

void add_threads_option(CLI::App& command, int& threads, const std::string& group) {
  OptionGroup(command, group)
      .add("--threads", threads, "Threads, at most one for each core; 0: one for each", "N")
      ->transform(thread_number());
}

void add_limit_options(CLI::App& command, std::vector<std::string>& fail_if,
                       const std::string& help) {
  OptionGroup(command, main_group).add("--fail-if", fail_if, help, "LIMIT");
}

void add_baseline_options(CLI::App& command, BaselineOptions& options) {
  OptionGroup group(command, "Baseline");
  auto* file = group.add("--baseline", options.file,
                         "Fail when a figure is worse than this file says was accepted, by more "
                         "than its tolerance",
                         "FILE");
  group.flag("--update-baseline", options.update, "Write this run's figures to that file instead")
      ->needs(file);
}

std::vector<Limit> limits_in_force(std::span<const std::string> fail_if,
                                   const BaselineOptions& baseline,
                                   std::span<const std::string> metrics) {
  std::vector<Limit> limits = parse_limits(fail_if, metrics);
  if (!baseline.file.empty() && !baseline.update)
    std::ranges::copy(limits_of(read_baseline(baseline.file, metrics)), std::back_inserter(limits));
  return limits;
}

void add_judgement_options(CLI::App& command, JudgeOptions& options, const std::string& name) {
  OptionGroup group(command, name);
  group
      .add("--verdict", options.verdict,
           "Percentage points that a metric may be worse than the reference's", "POINTS")
      ->check(from_zero());
  group.flag("--two-sided", options.two_sided, "Fail when it is better by as much, too");
  group.add("--resamples", options.bootstrap.resamples, "Draws of the bootstrap interval", "N")
      ->check(above_zero());
}

void add_embedding_options(CLI::App& command, KnnOptions& task, std::string& pooling,
                           const std::string& name) {
  OptionGroup group(command, name);
  command.add_option("--temperature", task.temperature, "Weight votes by exp(similarity / T)")
      ->check(above_zero())
      ->type_name("T")
      ->group(name);
  group.choice("--pooling", pooling,
               "How an output becomes an embedding (default: token 0 of [samples,tokens,dims])",
               {pooling_names().begin(), pooling_names().end()});
}

}  // namespace vernier::cli
