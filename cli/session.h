#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "vernier/report/html.h"

namespace vernier::cli {

// Where a command's result, messages and progress go when it is run inside another program. Without
// one they go to the terminal, or to the file of --output.
struct Session {
  std::function<void(const HtmlResult&)> result;  // which is valid during the call
  std::function<void(const std::string&)> message;
  // Called as analysis' Progress is, from any thread; false asks the work to stop.
  std::function<bool(const std::string& label, std::int64_t done, std::int64_t total)> progress;
};

// The session of the commands that this thread runs; null: the terminal.
const Session* session();

// While one lives, this thread's commands have the session.
class SessionScope {
 public:
  explicit SessionScope(const Session& session);
  ~SessionScope();
  SessionScope(const SessionScope&) = delete;
  SessionScope& operator=(const SessionScope&) = delete;
};

}  // namespace vernier::cli
