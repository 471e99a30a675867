#pragma once

#include <chrono>

#include "vernier/activity.h"
#include "vernier/error.h"

namespace vernier {

// The process that ran a model ended before it was done.
class ProcessEnded : public Error {
 public:
  enum class Cause { crashed, out_of_memory, timed_out };
  ProcessEnded(Cause cause, const std::string& message) : Error(message), cause_(cause) {}
  Cause cause() const { return cause_; }

 private:
  Cause cause_;
};

// Whether a process that ended like this, by wait's status, was ended by a fault of its code.
bool is_crash(int status);

// What a process that a signal ended was doing, and what to do about it.
ProcessEnded crash_error(int status, const ActivityPage& page);

// The same of a process that took too long, or too much.
ProcessEnded timeout_error(double seconds, const ActivityPage& page);
ProcessEnded memory_error(double gigabytes, const ActivityPage& page);

}  // namespace vernier
