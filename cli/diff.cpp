#include "vernier/analysis/diff.h"

#include <memory>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "vernier/analysis/inputs/io_mapping.h"
#include "vernier/error.h"
#include "vernier/report/diff.h"

namespace vernier::cli {
namespace {

struct DiffCommand {
  std::vector<std::string> files;  // REFERENCE CANDIDATE, or the one that no option names
  std::string reference;
  std::string candidate;
  DiffOptions diff;
  OutputOptions output;
  std::vector<std::string> fail_if;
  std::optional<int> samples_axis;
  std::optional<int> top;
};

// Files are given by position, reference first, or by -m and --reference.
void name_files(DiffCommand& options) {
  std::vector<std::string> files = options.files;
  if (!options.reference.empty()) files.insert(files.begin(), options.reference);
  if (!options.candidate.empty()) files.push_back(options.candidate);
  if (files.size() != 2)
    throw Error(
        "[diff] expected two files: vernier diff REFERENCE CANDIDATE; see 'vernier diff --help'");
  options.diff.reference = files[0];
  options.diff.candidate = files[1];
}

int run_diff(DiffCommand& options) {
  require_writable(options.output);
  name_files(options);
  options.diff.limits = parse_limits(options.fail_if, pair_limit_metrics());
  options.diff.leading_axis_is_samples = options.samples_axis.has_value();
  const DiffResult result = diff(options.diff);
  const DiffSubject subject{
      .run = {.command = "diff",
              .candidate = options.diff.candidate.filename(),
              .reference = options.diff.reference.filename(),
              .settings = {{"leading_axis_is_samples", options.diff.leading_axis_is_samples},
                           {"allow_missing", options.diff.allow_missing}}},
      .by_sample = options.diff.leading_axis_is_samples,
      .top = options.top.value_or(0)};
  write_result(options.output, describe_diff(subject, result),
               [&] { return diff_json(subject, result); });
  return exit_code(result.verdict);
}

}  // namespace

void add_diff(CLI::App& program, int& exit_code) {
  const auto options = std::make_shared<DiffCommand>();
  auto* command = program.add_subcommand("diff", "Compare the arrays of two .npy or .npz files");
  OptionGroup main(*command, main_group);
  command
      ->add_option("FILES", options->files,
                   "REFERENCE CANDIDATE: .npy, .npz or folders of .npy files")
      ->expected(0, 2);
  main.add("--reference", options->reference, "The reference, by name", "FILE");
  main.add("-m,--model,--candidate", options->candidate, "The candidate, by name", "FILE");
  add_limit_options(*command, options->fail_if,
                    "Fail when METRIC>VALUE or ARRAY:METRIC<VALUE holds; repeatable");
  main.flag("--allow-missing", options->diff.allow_missing, "Arrays on one side only do not fail");
  main.each(
      "--map-output",
      [&mapped = options->diff.mapped](const std::string& text) {
        mapped.insert(parse_name_pair(text, "--map-output"));
      },
      "The candidate's array that an array of the reference is compared with; repeatable",
      "REFERENCE=CANDIDATE");
  main.add("--samples-axis", options->samples_axis,
           "Compare sample by sample along this axis, and show mean, std, min and max; only 0, the "
           "leading axis, can be")
      ->check(CLI::IsMember({0}));
  main.add("--top", options->top, "Show only the N worst arrays, the worst first", "N")
      ->check(at_least(1));
  add_output_options(*command, options->output);
  command->footer(
      "Example:\n  vernier diff reference.npz candidate.npz --fail-if 'max_abs_diff>1e-3'\n");
  command->callback([options, &exit_code] { exit_code = run_diff(*options); });
}

}  // namespace vernier::cli
