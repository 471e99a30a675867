#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "vernier/data/read_file.h"
#include "vernier/error.h"
#include "vernier/report/html.h"

namespace vernier::cli {
namespace {

struct ReportCommand {
  std::vector<std::string> results;
  OutputOptions output;
};

int run_report(const ReportCommand& options) {
  require_html();
  require_writable(options.output);
  if (const std::string& file = options.output.file; !file.empty())
    if (const std::string format = output_format(options.output);
        format != "html" && std::filesystem::path(file).has_extension())
      throw Error(
          fmt::format("[report] {}: the page is HTML; choose a name that ends in .html", file));
  std::vector<HtmlResult> results;
  for (const std::string& file : options.results) {
    results.push_back({.json = std::string(as_text(read_file(file, "report")))});
    try {
      render_html(results.back());
    } catch (const Error& error) {
      std::string reason = error.what();
      if (reason.starts_with("[html] ")) reason.erase(0, 7);
      throw Error(fmt::format("[report] {}: {}", file, reason));
    }
  }
  write_text(options.output, render_html(results));
  return exit_pass;
}

}  // namespace

void add_report(CLI::App& program, int& exit_code) {
  const auto options = std::make_shared<ReportCommand>();
  auto* command =
      program.add_subcommand("report", "Show saved results, together, as one HTML page");
  OptionGroup main(*command, main_group);
  command->add_option("RESULTS", options->results, "Results that commands wrote with -f json")
      ->required()
      ->type_name("FILE...");
  main.add("-o,--output", options->output.file, "Write the page to FILE instead of stdout", "FILE");
  command->footer("Example:\n  vernier report debug.json layers.json check.json -o report.html\n");
  command->callback([options, &exit_code] { exit_code = run_report(*options); });
}

}  // namespace vernier::cli
