#pragma once

#include <string>
#include <vector>

#include "cli/session.h"

namespace vernier::cli {

// Exit codes other than those of a verdict. 0 is also used if nothing is judged, 2 if the command
// failed.
inline constexpr int exit_pass = 0;
inline constexpr int exit_error = 2;
inline constexpr int exit_interrupted = 130;  // after Ctrl-C, with a result of the samples so far

// Runs `vernier ARGUMENTS` in this process and returns its exit code. Throws Error if the command
// fails.
int run_program(int argc, const char* const* argv);
int run_program(const std::vector<std::string>& arguments);
int run_program(const std::vector<std::string>& arguments, const Session& session);

// The whole program: run_program() in a supervised child process; an error becomes a line on
// stderr.
int supervised_program(int argc, char** argv);

}  // namespace vernier::cli
