#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/tensor_detail.h"
#include "vernier/report/document.h"

namespace vernier::cli {

// -f, -o and --no-color: where and how a command shows its result.
struct OutputOptions {
  std::string format;  // empty: by the file's ending, else text
  std::string file;    // empty: standard output
  bool no_color = false;
  std::string detail = "worst:20";  // the rows whose tensors a page shows
};

// `more`: formats that only this command has.
void add_output_options(CLI::App& command, OutputOptions& options,
                        const std::vector<std::string>& more = {});

// --detail, for commands that see tensors inside the models.
void add_detail_option(CLI::App& command, OutputOptions& options);

// What is recorded for a page of tensors that pass; nothing for other formats, and with --detail
// none.
ShowPair detail_recorder(const OutputOptions& options, DetailRecord& record);

// Whether the result is shown with the candidate's graph.
bool shows_graph(const OutputOptions& options);

// Throws Error if the result could not be written later: call it before the long work.
void require_writable(const OutputOptions& options);
// Throws Error for a name that ends like a report's, where something else is written.
void require_no_report(const std::filesystem::path& path, const std::string& written);
// Both for a model that a command writes, which must be none of the files that it reads; empty
// ones count for nothing.
void require_model_writable(const std::filesystem::path& file,
                            const std::vector<std::filesystem::path>& read);

// The format in force.
std::string output_format(const OutputOptions& options);

// What a page shows beside the result; made only when a page is asked for.
struct PageParts {
  std::function<std::string()> graph = {};   // JSON of graph_json
  std::function<std::string()> detail = {};  // JSON of detail_json
};

// Writes the result; the JSON text is made only when it is asked for.
void write_result(const OutputOptions& options, const Document& document,
                  const std::function<std::string()>& json, const PageParts& parts = {});

// The program's arguments, which a page shows as the command that makes it again.
void remember_command_line(std::span<const char* const> arguments);

// Writes a text that is rendered already.
void write_text(const OutputOptions& options, const std::string& text);

// Columns of the terminal that the file descriptor is: $COLUMNS if it is set, else what the
// terminal says; `otherwise` if there is none.
int terminal_width(int descriptor, int otherwise);

// A sentence on stderr, in lines that fit the terminal.
void print_message(const std::string& text);

// "warning: ..." on stderr, each on its own.
void print_warnings(std::span<const std::string> warnings);

}  // namespace vernier::cli
