#pragma once

#include <map>
#include <string>
#include <vector>

namespace vernier {

struct ProcessResult {
  int exit_code = 0;  // 128 + N when signal N ended it; 127 when the program could not be started
  std::string out;    // what it wrote to standard output
};

// Runs a program, found on PATH unless it has a slash, and waits for it. `environment` is added to
// this process's own. Standard input is empty; standard error is this process's. It is asked to end
// (SIGTERM) when this process ends.
ProcessResult run_process(const std::vector<std::string>& command,
                          const std::map<std::string, std::string>& environment = {});

// A variable of this process's environment; empty if it is not set.
std::string environment_variable(const char* name);

// This process's environment as posix_spawn takes it, "NAME=value" each, with these added.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& added);

}  // namespace vernier
