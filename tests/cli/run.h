#pragma once

#include <string>
#include <vector>

namespace vernier::testing {

struct CompletedProcess {
  int exit_code = -1;  // 128 + N when signal N ended it
  std::string out;
  std::string err;
};

// Runs the real binary in `folder` (here when empty), with standard input closed.
CompletedProcess run_vernier(const std::vector<std::string>& arguments,
                             const std::string& folder = "");

// Any other program, by the same means.
CompletedProcess run_program(const std::vector<std::string>& command,
                             const std::string& folder = "");

// Runs the real binary with standard output and error on a pseudo terminal so many columns wide;
// `out` is all that it shows.
CompletedProcess run_in_terminal(const std::vector<std::string>& arguments, int columns);

// Whether a python3 on PATH has PyTorch.
bool can_export();

std::string read_text(const std::string& path);

// Compares with tests/golden/NAME; with VERNIER_UPDATE_GOLDEN set, writes it instead. Versions in
// the text are replaced by "VERSION" first.
void expect_golden(const std::string& name, const std::string& text);

// The text is JSON (no bare Infinity or NaN) that keeps docs/schemas/SCHEMA.schema.json.
void expect_valid_json(const std::string& schema, const std::string& text);

// The text is a SARIF 2.1.0 log with all that the format requires.
void expect_valid_sarif(const std::string& text);

// The run could not be done: exit code 2, nothing on stdout, one line on stderr that holds `part`.
void expect_error(const CompletedProcess& outcome, const std::string& part);

}  // namespace vernier::testing
