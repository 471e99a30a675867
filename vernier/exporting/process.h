#pragma once

#include <map>
#include <string>
#include <vector>

namespace vernier {

struct ProcessResult {
  int exit_code = 0;  // 128 + N if signal N ended it; 127 if it could not be started
  std::string out;    // standard output
};

// Runs a program and waits for it. PATH is searched unless the name has a slash. `environment` is
// added to this process's environment. Standard input is empty; standard error is inherited. The
// program gets SIGTERM if this process ends first.
ProcessResult run_process(const std::vector<std::string>& command,
                          const std::map<std::string, std::string>& environment = {});

// The words as exec functions take them: pointers, and a null pointer at the end.
std::vector<char*> exec_arguments(std::vector<std::string>& words);

// The last line of what a program printed that is not empty.
std::string last_line(std::string printed);

// The value of an environment variable; empty if it is not set.
std::string environment_variable(const char* name);

// This process's environment with `added`, as "NAME=value" entries.
std::vector<std::string> environment_with(const std::map<std::string, std::string>& added);

}  // namespace vernier
