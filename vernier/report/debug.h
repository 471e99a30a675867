#pragma once

#include <string>

#include "vernier/analysis/debug/debug.h"
#include "vernier/report/envelope.h"

namespace vernier {

struct DebugSubject {
  RunDescription run;
  double low_db = 20;                    // rows below are red
  double good_db = 40;                   // rows above are green
  int top = 10;                          // rows of each table of worst rows
  std::string keep_command = {};         // keeps set_to_keep() in float; empty if there is none
  std::vector<std::string> tokens = {};  // texts of the run map's tokens; if empty, ids are shown
};

// All that text and JSON say besides figures and verdict.
std::vector<std::string> debug_warnings(const DebugSubject& subject, const DebugResult& result);

// The result in a few sentences.
std::string debug_conclusion(const DebugResult& result);

// The loss from how the quantized model runs on this machine; empty if it is negligible.
std::string debug_loss_text(const DebugSubject& subject, const DebugResult& result);

Document describe_debug(const DebugSubject& subject, const DebugResult& result);

// Schema: docs/schemas/debug.schema.json.
std::string debug_json(const DebugSubject& subject, const DebugResult& result);

}  // namespace vernier
