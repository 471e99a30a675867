#include "vernier/analysis/check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/input_options.h"
#include "cli/model_options.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/session.h"
#include "vernier/activity.h"
#include "vernier/error.h"
#include "vernier/metrics/tensor_statistics.h"
#include "vernier/report/check.h"
#include "vernier/report/graph_json.h"

namespace vernier::cli {
namespace {

struct CheckCommand {
  ModelOptions models;
  std::string preprocessing;
  std::string explain;
  std::vector<std::string> only;
  std::vector<std::string> disable;
  bool strict = false;
  bool no_weights = false;
  double tolerance = 1e-3;
  int top = 5;
  InputSpec input{.default_samples = 3};
  RuntimeOptions runtime;
  OutputOptions output;
};

CheckOptions check_options(const CheckCommand& options, const std::filesystem::path& reference,
                           const ResolvedModel& resolved) {
  CheckOptions check{.only = options.only,
                     .disable = options.disable,
                     .reference = reference,
                     .host = host_options(options.models, resolved),
                     .preprocessing = options.preprocessing,
                     .tolerance = options.tolerance,
                     .strict = options.strict,
                     .weight_evidence = !options.no_weights,
                     .runtime = runner_options(options.runtime).onnx,
                     .isolated = session() == nullptr};  // an embedding program is not forked
  // A run that does not end must become a finding before --timeout ends the whole check.
  if (const ActivityPage* page = activity_page(); page && page->timeout_seconds > 0)
    check.trial_seconds = std::min(check.trial_seconds, page->timeout_seconds / 3);
  // Without input options, check() itself searches for input sizes that the model accepts.
  if (!options.input.is_default())
    check.samples = [&options](const Model& model) {
      Inputs inputs = make_inputs(model, options.input);
      print_warnings(inputs.warnings);
      return std::move(inputs.samples);
    };
  return check;
}

// Throws Error if a given input holds NaN: what the model makes of it says nothing about the model.
void require_numbers(const Model& model, const CheckCommand& options) {
  if (!are_given(options.input)) return;
  const Inputs inputs = make_inputs(model, options.input);
  for (std::int64_t i = 0; i < inputs.samples->size(); ++i)
    for (const Tensor& input : inputs.samples->sample(i))
      if (is_float(input.dtype) && tensor_statistics(input).nan > 0)
        throw Error(fmt::format(
            "[check] input '{}' holds NaN in sample {}: fix it, or leave the sample out",
            input.name, inputs.samples->number(i)));
}

int explain(const CheckCommand& options) {
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

int run_check(const CheckCommand& options) {
  require_writable(options.output);
  if (!options.explain.empty()) return explain(options);
  if (options.models.models.empty()) throw Error("[check] MODEL: name the .onnx file to check");
  const ResolvedModel resolved = resolve_model_argument(options.models.models, options.models.id);
  const std::filesystem::path reference = find_reference(options.models, resolved);
  const CheckOptions checked = check_options(options, reference, resolved);
  const auto model = load_to_check(resolved.model);
  if (model) require_numbers(model->model(), options);
  const CheckResult result = check(resolved.model, model.get(), checked);
  CheckSubject subject{.run = describe_run("check", resolved, reference, options.runtime),
                       .top = options.top};
  if (!options.only.empty()) subject.run.settings.emplace_back("only", options.only);
  if (!options.disable.empty()) subject.run.settings.emplace_back("disable", options.disable);
  subject.run.settings.emplace_back("strict", options.strict);
  if (output_format(options.output) == "sarif")
    write_text(options.output, check_sarif(subject, result));
  else
    write_result(options.output, describe_check(subject, result),
                 [&] { return check_json(subject, result); },
                 {.graph = [&] { return model ? graph_json(*model) : ""; }});
  return exit_code(result.verdict);
}

}  // namespace

void add_check(CLI::App& program, int& exit_code) {
  const auto options = std::make_shared<CheckCommand>();
  auto* command = program.add_subcommand("check", "Find what is wrong with an exported model");
  add_model_options(*command, options->models, "The exported model: .onnx file, folder or id",
                    ",--candidate");
  OptionGroup main(*command, main_group);
  main.flag("--strict", options->strict, "Fail on warnings too");
  main.add("--explain", options->explain, "Print the page about a finding, or all", "ID");
  add_input_options(*command, options->input);
  OptionGroup findings(*command, "Findings");
  findings.add("--only", options->only, "Look for these findings alone; repeatable", "ID")
      ->delimiter(',');
  findings.add("--disable", options->disable, "Leave these findings out; repeatable", "ID")
      ->delimiter(',');
  findings
      .add("--tolerance,--atol", options->tolerance, "Largest difference from the reference", "T")
      ->check(from_zero());
  findings.flag("--no-weights", options->no_weights,
                "Do not compare the weights with the reference's as evidence");
  findings.add("--preprocessing", options->preprocessing,
               "How its images are prepared (default: the file beside the model)", "FILE");
  findings.add("--top", options->top, "Findings of one kind to show in text and Markdown", "N")
      ->check(at_least(1));
  add_model_id_options(*command, options->models.id);
  add_host_options(*command, options->models);
  add_runtime_options(*command, options->runtime);
  add_output_options(*command, options->output, {"sarif"});
  command->footer("Example:\n  vernier check model.onnx --reference model.pt --strict\n");
  command->callback([options, &exit_code] { exit_code = run_check(*options); });
}

}  // namespace vernier::cli
