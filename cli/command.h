#pragma once

#include <CLI/CLI.hpp>

#include "cli/program.h"
#include "vernier/analysis/verdict.h"

namespace vernier::cli {

inline int exit_code(const Verdict& verdict, bool interrupted = false) {
  return interrupted ? exit_interrupted : exit_code(verdict.outcome);
}

// Each function adds a subcommand to the program, which stores its exit code in `exit_code` when it
// runs. There is one file per command; program.cpp calls these functions.
void add_check(CLI::App& program, int& exit_code);
void add_completion(CLI::App& program, int& exit_code);
void add_convert(CLI::App& program, int& exit_code);
void add_debug(CLI::App& program, int& exit_code);
void add_diagnose(CLI::App& program, int& exit_code);
void add_diff(CLI::App& program, int& exit_code);
void add_eval(CLI::App& program, int& exit_code);
void add_export(CLI::App& program, int& exit_code);
void add_inspect(CLI::App& program, int& exit_code);
void add_layers(CLI::App& program, int& exit_code);
void add_merge(CLI::App& program, int& exit_code);
void add_providers(CLI::App& program, int& exit_code);
void add_quantize(CLI::App& program, int& exit_code);
void add_record(CLI::App& program, int& exit_code);
void add_repair(CLI::App& program, int& exit_code);
void add_report(CLI::App& program, int& exit_code);
void add_score(CLI::App& program, int& exit_code);
void add_sweep(CLI::App& program, int& exit_code);
void add_tune(CLI::App& program, int& exit_code);
void add_zoo(CLI::App& program, int& exit_code);

}  // namespace vernier::cli
