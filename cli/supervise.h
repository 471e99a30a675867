#pragma once

#include <string>

namespace vernier::cli {

// Runs `work` in a child process and returns its exit code. If a signal ends the child, prints one
// line about what it was doing and returns 2. Enforces the limits of the activity page, and
// forwards signals: the first one asks the child to stop; it is killed 0.9 s later or at the next
// signal. If the environment variable VERNIER_UNSUPERVISED is set, runs `work` in this process
// instead.
int supervise(int argc, char** argv, int (*work)(int argc, char** argv));

// Marks that a result or an error is about to be written: from now on no limit ends this process,
// and the supervisor prints nothing after an interrupt.
void begin_answer();

// Prints an error on stderr, in place of a progress bar.
void print_error(std::string message);

}  // namespace vernier::cli
