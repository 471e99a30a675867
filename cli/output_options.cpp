#include "cli/output_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "vernier/error.h"
#include "vernier/report/markdown.h"
#include "vernier/report/terminal.h"
#include "vernier/tensor/atomic_file.h"

namespace vernier::cli {
namespace {

bool use_colour(const OutputOptions& options) {
  const char* no_color = std::getenv("NO_COLOR");
  return !options.no_color && options.file.empty() && (!no_color || !*no_color) &&
         isatty(STDOUT_FILENO) == 1;
}

void write_stdout(const std::string& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    throw Error("[output] standard output: could not write; is the disk full or the pipe closed?");
}

}  // namespace

void add_output_options(CLI::App& command, OutputOptions& options,
                        const std::vector<std::string>& formats) {
  command.add_option("-f,--format", options.format, "Format of the result")
      ->check(CLI::IsMember(formats));
  command.add_option("-o,--output", options.file, "Write the result to FILE instead of stdout")
      ->type_name("FILE");
  command.add_flag("--no-color", options.no_color, "No colours, even on a terminal");
}

void require_writable(const OutputOptions& options) {
  if (options.file.empty()) return;
  const std::filesystem::path file = options.file;
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  if (!std::filesystem::is_directory(folder))
    throw Error(
        fmt::format("[output] {}: no folder {}; create it first", options.file, folder.string()));
  if (access(folder.c_str(), W_OK) != 0 || std::filesystem::is_directory(file))
    throw Error(fmt::format("[output] {}: cannot be written; choose another -o", options.file));
}

std::string output_format(const OutputOptions& options) {
  if (!options.format.empty()) return options.format;
  const std::string extension = std::filesystem::path(options.file).extension();
  if (extension == ".json") return "json";
  if (extension == ".md") return "md";
  if (extension == ".sarif") return "sarif";
  return "text";
}

void write_text(const OutputOptions& options, const std::string& text) {
  if (options.file.empty())
    write_stdout(text);
  else
    write_file_atomically(options.file, text);
}

void write_result(const OutputOptions& options, const Document& document,
                  const std::function<std::string()>& json) {
  const std::string format = output_format(options);
  if (format == "json")
    write_text(options, json());
  else if (format == "md")
    write_text(options, render_markdown(document));
  else
    write_text(options, render_terminal(document, use_colour(options)));
}

}  // namespace vernier::cli
