#include "vernier/analysis/check/check.h"

#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/input_options.h"
#include "cli/output_options.h"
#include "cli/runtime_options.h"
#include "cli/validators.h"
#include "vernier/error.h"
#include "vernier/report/check.h"

namespace vernier::cli {
namespace {

struct Options {
  std::string model;
  std::string reference;
  std::string preprocessing;
  std::string explain;
  std::vector<std::string> only;
  std::vector<std::string> disable;
  bool strict = false;
  double tolerance = 1e-3;
  int top = 5;
  InputOptions input{.default_samples = 3};
  RuntimeOptions runtime;
  OutputOptions output;
};

// Without any of these options, check() itself looks for sizes that the model takes.
bool chooses_inputs(const InputOptions& input) {
  return input.samples || input.sample_index || !input.shapes.empty() || !input.ranges.empty() ||
         !input.data.empty() || !input.dataset.name.empty() || !input.distribution.empty() ||
         input.seed != InputOptions{}.seed;
}

CheckOptions check_options(const Options& options) {
  CheckOptions check{.only = options.only,
                     .disable = options.disable,
                     .reference = options.reference,
                     .preprocessing = options.preprocessing,
                     .tolerance = options.tolerance,
                     .strict = options.strict,
                     .runtime = runner_options(options.runtime).onnx};
  if (chooses_inputs(options.input))
    check.samples = [&options](const Model& model) {
      Inputs inputs = make_inputs(options.input, model.inputs(), options.model);
      print_warnings(inputs.warnings);
      return std::move(inputs.samples);
    };
  return check;
}

int explain(const Options& options) {
  const auto all = explanations();
  const auto entries = options.explain == "all" ? all : std::span(&explanation(options.explain), 1);
  if (output_format(options.output) == "sarif")
    throw Error("[check] --explain: there is no SARIF of it; use -f text, json or md");
  if (output_format(options.output) == "md")
    write_text(options.output, explain_markdown(entries));
  else
    write_result(options.output, describe_explanations(entries),
                 [&] { return explain_json(entries); });
  return exit_pass;
}

int run(const Options& options) {
  require_writable(options.output);
  if (!options.explain.empty()) return explain(options);
  if (options.model.empty()) throw Error("[check] MODEL: name the .onnx file to check");
  const CheckResult result = check(options.model, check_options(options));
  const CheckSubject subject{
      .model = std::filesystem::path(options.model).filename().string(),
      .reference = std::filesystem::path(options.reference).filename().string(),
      .only = options.only,
      .disable = options.disable,
      .strict = options.strict,
      .top = options.top};
  if (output_format(options.output) == "sarif")
    write_text(options.output, check_sarif(subject, result));
  else
    write_result(options.output, describe_check(subject, result),
                 [&] { return check_json(subject, result); });
  return exit_code(result.verdict);
}

void add_choice(CLI::App& command, const char* name, std::vector<std::string>& ids,
                const char* description) {
  command.add_option(name, ids, description)
      ->type_name("ID")
      ->delimiter(',')
      ->allow_extra_args(false);
}

}  // namespace

void add_check(CLI::App& program, int& exit_code) {
  const auto options = std::make_shared<Options>();
  auto* command = program.add_subcommand("check", "Find what is wrong with an exported model");
  command->add_option("MODEL", options->model, "An .onnx file");
  command
      ->add_option("--reference", options->reference,
                   "What it was exported from: TorchScript, ONNX or recorded outputs")
      ->type_name("PATH");
  command
      ->add_option("--preprocessing", options->preprocessing,
                   "How its images are prepared (model.json or preprocessor_config.json beside it)")
      ->type_name("FILE");
  add_choice(*command, "--only", options->only, "Look for these findings alone; repeatable");
  add_choice(*command, "--disable", options->disable, "Leave these findings out; repeatable");
  command->add_option("--explain", options->explain, "Print the page about a finding, or all")
      ->type_name("ID");
  command->add_flag("--strict", options->strict, "Exit 1 for warnings too");
  command->add_option("--atol", options->tolerance, "Largest difference from the reference")
      ->capture_default_str();
  command->add_option("--top", options->top, "Findings of one kind to show in text and Markdown")
      ->check(at_least(1))
      ->capture_default_str();
  add_input_options(*command, options->input);
  add_runtime_options(*command, options->runtime);
  add_output_options(*command, options->output, {"text", "json", "md", "sarif"});
  command->footer("Example:\n  vernier check model.onnx --reference model.pt --strict\n");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace vernier::cli
