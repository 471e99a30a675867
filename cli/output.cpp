#include "cli/output.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string_view>
#include <utility>

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
#include "vernier/report/warning.h"
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
  std::fwrite(text.data(), 1, text.size(), stdout);  // an error is kept in the stream
  require_written();
}

// The formats by the endings of files; text has any of the last ones.
constexpr std::array<std::pair<std::string_view, std::string_view>, 11> formats_by_ending = {
    {{".json", "json"},
     {".md", "md"},
     {".sarif", "sarif"},
     {".csv", "csv"},
     {".xml", "junit"},
     {".html", "html"},
     {".htm", "html"},
     {"", "text"},
     {".txt", "text"},
     {".log", "text"},
     {".vpart", "text"}}};  // a part, which has no format

// nullopt if no format has the file's ending.
std::optional<std::string> format_by_ending(const std::string& file) {
  const std::string ending = lower_case(std::filesystem::path(file).extension());
  for (const auto& [known, format] : formats_by_ending)
    if (ending == known) return std::string(format);
  return std::nullopt;
}

// Throws Error if the file could not be written later.
void require_writable_file(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  if (!std::filesystem::is_directory(folder))
    throw Error(
        fmt::format("[output] {}: no folder {}; create it first", file.string(), folder.string()));
  if (access(folder.c_str(), W_OK) != 0 || std::filesystem::is_directory(file))
    throw Error(fmt::format("[output] {}: cannot be written; choose another -o", file.string()));
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
  require_writable_file(options.file);
  if (options.format.empty() && !format_by_ending(options.file))
    throw Error(fmt::format(
        "[output] {}: there is no format of that ending; choose .json, .md, .html, .csv, .xml "
        "(JUnit) or .txt, or pass -f",
        options.file));
}

void require_no_report(const std::filesystem::path& path, const std::string& written) {
  if (output_format({.file = path.string()}) != "text")
    throw Error(
        fmt::format("[output] -o {}: is where {} is written; the report goes to --report {}",
                    path.string(), written, path.string()));
}

void require_model_writable(const std::filesystem::path& file) {
  require_no_report(file, "a model");
  require_writable_file(file);
}

std::string output_format(const OutputOptions& options) {
  if (!options.format.empty()) return options.format;
  return format_by_ending(options.file).value_or("text");
}

void require_written() {
  std::cout.flush();  // help and versions are written by CLI11
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout)
    throw Error("[output] standard output: could not write; is the disk full or the pipe closed?");
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

void print_warnings(std::span<const Warning> warnings) { print_warnings(warning_texts(warnings)); }

}  // namespace vernier::cli
