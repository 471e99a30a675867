#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/tensor_detail.h"
#include "vernier/report/document.h"
#include "vernier/warning.h"

namespace vernier::cli {

// -f, -o and --no-color: where and how a command shows its result.
struct OutputOptions {
  std::string format;  // if empty, by the file's extension, else text
  std::string file;    // if empty, standard output
  bool no_color = false;
  std::string detail = "worst:20";  // rows whose tensors the HTML page shows
};

// `more` are additional formats of this command.
void add_output_options(CLI::App& command, OutputOptions& options,
                        const std::vector<std::string>& more = {});

// The same for a "report" whose file is named by another option, such as "--report".
void add_written_options(CLI::App& command, OutputOptions& options, const std::string& written,
                         const std::string& file, const std::vector<std::string>& more);

// --detail, for commands that watch intermediate tensors.
void add_detail_option(CLI::App& command, OutputOptions& options);

// The function that records observed tensors for an HTML page; empty for other formats and for
// --detail none.
ShowPair detail_recorder(const OutputOptions& options, DetailRecord& record);

// Whether the output format shows the candidate's graph.
bool shows_graph(const OutputOptions& options);

// Throws Error if the result could not be written later. Call it before measuring.
void require_writable(const OutputOptions& options);
// Throws Error if `path` has the extension of a report, though `written` ("a model") is written
// there.
void require_no_report(const std::filesystem::path& path, const std::string& written);
// Applies both checks to a model that a command writes.
void require_model_writable(const std::filesystem::path& file);

// The format of the options, else by the file's extension, else "text".
std::string output_format(const OutputOptions& options);

// What an HTML page shows in addition to the result; computed only for such a page.
struct PageParts {
  std::function<std::string()> graph = {};   // from graph_json()
  std::function<std::string()> detail = {};  // from detail_json()
};

// Writes the result; `json` is called only if the format needs it.
void write_result(const OutputOptions& options, const Document& document,
                  const std::function<std::string()>& json, const PageParts& parts = {});

// Stores the program's arguments, which an HTML page shows as the command that reproduces it.
void remember_command_line(std::span<const char* const> arguments);

// Throws Error if what was written to standard output did not arrive.
void require_written();

// Writes text that is already rendered.
void write_text(const OutputOptions& options, const std::string& text);

// The terminal's width in columns: $COLUMNS if set, else that of the terminal behind the
// descriptor, else `otherwise`.
int terminal_width(int descriptor, int otherwise);

// Prints a sentence on stderr, wrapped to the terminal; in a session, passes it to the session.
void print_message(const std::string& text);

// Prints each warning as "warning: ...".
void print_warnings(std::span<const std::string> warnings);
void print_warnings(std::span<const Warning> warnings);

}  // namespace vernier::cli
