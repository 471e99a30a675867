#pragma once

#include <string>

namespace vernier::cli {

// Runs `work` in a process of its own and returns its exit code. If a signal ends that process, one
// line says what it was doing, and the exit code is 2. Keeps the limits of the activity page, and
// passes signals on: the first asks the process to stop, and it is killed when it has not after a
// second, or at the next signal. The environment variable VERNIER_UNSUPERVISED leaves all this out.
int supervise(int argc, char** argv, int (*work)(int argc, char** argv));

// From now on no limit ends this process: it has its answer, and is about to say it. Nothing is
// added to that, however it ends after an interrupt.
void begin_answer();

// Lines on stderr that replace a progress bar.
void print_error(std::string message);

}  // namespace vernier::cli
