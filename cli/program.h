#pragma once

#include <string>
#include <vector>

#include "cli/session.h"

namespace vernier::cli {

// Exit codes besides those of a verdict: 0 also where nothing is judged, and 2 when the run could
// not be done.
inline constexpr int exit_pass = 0;
inline constexpr int exit_error = 2;
inline constexpr int exit_interrupted = 130;  // after Ctrl-C, with what was done so far

// Runs the command that the arguments say, as `vernier ARGUMENTS` does, and returns its exit code.
// Throws Error for what cannot be done.
int run_program(int argc, const char* const* argv);
int run_program(const std::vector<std::string>& arguments, const Session& session);

// The whole program: run_program, supervised in a process of its own; an error is a line on stderr.
int supervised_program(int argc, char** argv);

}  // namespace vernier::cli
