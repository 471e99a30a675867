#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "vernier/report/html.h"

namespace vernier::cli {

// Receives the result, messages and progress of a command that runs inside another program. Without
// a session they go to the terminal, or to the file of --output.
struct Session {
  std::function<void(const HtmlResult&)> result;  // valid only during the call
  std::function<void(const std::string&)> message;
  // Called like the Progress of an analysis, from any thread; returning false stops the work.
  std::function<bool(const std::string& label, std::int64_t done, std::int64_t total)> progress;
};

// The session of commands that this thread runs; null if there is none.
const Session* session();

// For its lifetime, commands that this thread runs use `session`.
class SessionScope {
 public:
  explicit SessionScope(const Session& session);
  ~SessionScope();
  SessionScope(const SessionScope&) = delete;
  SessionScope& operator=(const SessionScope&) = delete;
};

}  // namespace vernier::cli
