#include "cli/output.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "cli/options.h"
#include "cli/session.h"
#include "cli/supervise.h"
#include "vernier/error.h"
#include "vernier/report/command_line.h"
#include "vernier/report/detail.h"
#include "vernier/report/html.h"
#include "vernier/report/markdown.h"
#include "vernier/report/rows.h"
#include "vernier/report/terminal.h"
#include "vernier/tensor/atomic_file.h"
#include "vernier/utf8.h"

namespace vernier::cli {
namespace {

bool use_colour(const OutputOptions& options) {
  const char* no_color = std::getenv("NO_COLOR");
  return !options.no_color && options.file.empty() && (!no_color || !*no_color) &&
         isatty(STDOUT_FILENO) == 1;
}

// Whether the locale of the terminal is not UTF-8, by the first of these variables that is set.
bool is_ascii_terminal(const OutputOptions& options) {
  if (!options.file.empty() || isatty(STDOUT_FILENO) != 1) return false;
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (!value || !*value) continue;
    const std::string locale = lower_case(value);
    return locale.find("utf-8") == std::string::npos && locale.find("utf8") == std::string::npos;
  }
  return false;
}

// 0, no limit, for a file or a pipe.
int width_of(const OutputOptions& options) {
  return options.file.empty() ? terminal_width(STDOUT_FILENO, 0) : 0;
}

void write_stdout(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw Error("[output] standard output: could not write; is the disk full or the pipe closed?");
}

std::string& command_line() {
  static std::string line;
  return line;
}

HtmlResult page_of(const Document& document, const std::function<std::string()>& json,
                   const PageParts& parts) {
  return {.json = json(),
          .document = &document,
          .command_line = command_line(),
          .graph = parts.graph ? parts.graph() : "",
          .detail = parts.detail ? parts.detail() : ""};
}

}  // namespace

void remember_command_line(std::span<const char* const> arguments) {
  std::string line = "vernier";
  for (const char* argument : arguments.subspan(std::min<std::size_t>(1, arguments.size())))
    line += " " + shell_argument(argument);
  command_line() = std::move(line);
}

void add_output_options(CLI::App& command, OutputOptions& options,
                        const std::vector<std::string>& more) {
  add_written_options(command, options, "result", "-o,--output", more);
}

void add_written_options(CLI::App& command, OutputOptions& options, const std::string& written,
                         const std::string& file, const std::vector<std::string>& more) {
  std::vector<std::string> formats = {"text",  "json",          "md", "html", "csv",
                                      "junit", "model-explorer"};
  formats.insert(formats.end(), more.begin(), more.end());
  OptionGroup group(command, main_group);
  group.choice("-f,--format", options.format,
               fmt::format("Format of the {} (default: by the ending of {})", written,
                           file.substr(0, file.find(','))),
               formats);
  group.add(file, options.file, fmt::format("Write the {} to FILE instead of stdout", written),
            "FILE");
  OptionGroup(command, "Output")
      .flag("--no-color", options.no_color, "No colours, even on a terminal");
}

void add_detail_option(CLI::App& command, OutputOptions& options) {
  OptionGroup(command, "Report")
      .add("--detail", options.detail,
           "The rows whose tensors -f html shows, besides the outputs: worst:N, all or none",
           "ROWS")
      ->default_str(options.detail);
}

ShowPair detail_recorder(const OutputOptions& options, DetailRecord& record) {
  const bool shown = parse_detail(options.detail).which != DetailChoice::Which::none;
  return shown && output_format(options) == "html" ? record.recorder() : ShowPair();
}

bool shows_graph(const OutputOptions& options) {
  const std::string format = output_format(options);
  return session() || format == "html" || format == "model-explorer";
}

void require_writable(const OutputOptions& options) {
  if (output_format(options) == "html") require_html();
  if (options.file.empty()) return;
  const std::filesystem::path file = options.file;
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  if (!std::filesystem::is_directory(folder))
    throw Error(
        fmt::format("[output] {}: no folder {}; create it first", options.file, folder.string()));
  if (access(folder.c_str(), W_OK) != 0 || std::filesystem::is_directory(file))
    throw Error(fmt::format("[output] {}: cannot be written; choose another -o", options.file));
}

void require_no_report(const std::filesystem::path& path, const std::string& written) {
  if (output_format({.file = path.string()}) != "text")
    throw Error(
        fmt::format("[output] -o {}: is where {} is written; the report goes to --report {}",
                    path.string(), written, path.string()));
}

void require_model_writable(const std::filesystem::path& file,
                            const std::vector<std::filesystem::path>& read) {
  require_no_report(file, "a model");
  require_writable({.file = file.string()});
  for (const std::filesystem::path& each : read) {
    std::error_code error;  // a file that does not exist cannot be replaced
    if (!each.empty() && std::filesystem::equivalent(file, each, error))
      throw Error(
          fmt::format("[output] {}: would replace what is read; choose another -o", file.string()));
  }
}

std::string output_format(const OutputOptions& options) {
  if (!options.format.empty()) return options.format;
  const std::string extension = lower_case(std::filesystem::path(options.file).extension());
  if (extension == ".json") return "json";
  if (extension == ".md") return "md";
  if (extension == ".sarif") return "sarif";
  if (extension == ".csv") return "csv";
  if (extension == ".xml") return "junit";
  if (extension == ".html" || extension == ".htm") return "html";
  return "text";
}

void write_text(const OutputOptions& options, const std::string& text) {
  begin_answer();
  if (options.file.empty())
    write_stdout(text);
  else
    write_file_atomically(options.file, text);
}

void write_result(const OutputOptions& options, const Document& document,
                  const std::function<std::string()>& json, const PageParts& parts) {
  if (session() && options.file.empty()) return session()->result(page_of(document, json, parts));
  const std::string format = output_format(options);
  if (format == "json")
    write_text(options, printable_json(json()));
  else if (format == "md")
    write_text(options, render_markdown(document));
  else if (format == "html")
    write_text(options, render_html(page_of(document, json, parts)));
  else if (format == "csv")
    write_text(options, render_csv(json()));
  else if (format == "junit")
    write_text(options, render_junit(json()));
  else if (format == "model-explorer")
    write_text(options, render_model_explorer(json(), parts.graph ? parts.graph() : ""));
  else
    write_text(options, render_terminal(is_ascii_terminal(options) ? in_ascii(document) : document,
                                        use_colour(options), width_of(options)));
}

int terminal_width(int descriptor, int otherwise) {
  if (const char* columns = std::getenv("COLUMNS"); columns && std::atoi(columns) > 0)
    return std::atoi(columns);
  winsize size = {};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : otherwise;
}

void print_message(const std::string& message) {
  if (session()) return session()->message(message);
  const std::string text = printable(message);
  const int width = terminal_width(STDERR_FILENO, 0);
  const auto lines = width > 0 ? wrap_text(text, width) : std::vector{text};
  for (const std::string& line : lines) fmt::print(stderr, "{}\n", line);
}

void print_warnings(std::span<const std::string> warnings) {
  for (const std::string& warning : warnings) print_message("warning: " + warning);
}

}  // namespace vernier::cli
