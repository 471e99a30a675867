#include "vernier/analysis/diff.h"

#include <memory>

#include "cli/command.h"
#include "cli/output_options.h"
#include "cli/validators.h"
#include "vernier/report/diff.h"

namespace vernier::cli {
namespace {

struct Options {
  DiffOptions diff;
  OutputOptions output;
  std::vector<std::string> fail_if;
  int samples_axis = -1;
  int top = 0;
};

int run(Options& options) {
  require_writable(options.output);
  options.diff.limits = parse_limits(options.fail_if, pair_limit_metrics());
  options.diff.leading_axis_is_samples = options.samples_axis == 0;
  const DiffResult result = diff(options.diff);
  write_result(options.output, describe_diff(options.diff, result, options.top),
               [&] { return diff_json(options.diff, result); });
  return exit_code(result.verdict);
}

}  // namespace

void add_diff(CLI::App& program, int& exit_code) {
  const auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand("diff", "Compare the arrays of two .npy or .npz files");
  command->add_option("REFERENCE", options->diff.reference, ".npy, .npz or folder of .npy files")
      ->required();
  command->add_option("CANDIDATE", options->diff.candidate, "The same, to compare with it")
      ->required();
  command
      ->add_option("--samples-axis", options->samples_axis,
                   "0: the leading axis is samples; show mean, std, min and max over them")
      ->check(CLI::IsMember({0}));
  command
      ->add_option("--fail-if", options->fail_if,
                   "Exit 1 when METRIC>VALUE or TENSOR:METRIC<VALUE holds; repeatable")
      ->type_name("LIMIT")
      ->allow_extra_args(false);
  command->add_flag("--allow-missing", options->diff.allow_missing,
                    "Arrays on one side only do not fail");
  command->add_option("--top", options->top, "Show only the N worst arrays, the worst first")
      ->check(at_least(1))
      ->type_name("N");
  add_output_options(*command, options->output);
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace vernier::cli
