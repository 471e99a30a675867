#pragma once

#include "vernier/activity.h"
#include "vernier/error.h"

namespace vernier {

// Thrown when the process that ran a model ended before the run was complete.
class ProcessEnded : public Error {
 public:
  enum class Cause { crashed, out_of_memory, timed_out };
  ProcessEnded(Cause cause, const std::string& message) : Error(message), cause_(cause) {}
  Cause cause() const { return cause_; }

 private:
  Cause cause_;
};

// Whether the wait() status says that a fault in the code ended the process: a signal other than
// SIGKILL, SIGTERM, SIGINT, SIGHUP and SIGPIPE.
bool is_crash(int status);

// The error for a process that a signal ended: what it was doing, and a remedy.
ProcessEnded crash_error(int status, const ActivityPage& page);

// The errors for a process that exceeded its time limit or its memory limit.
ProcessEnded timeout_error(double seconds, const ActivityPage& page);
ProcessEnded memory_error(double gigabytes, const ActivityPage& page);

}  // namespace vernier
