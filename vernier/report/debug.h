#pragma once

#include <string>

#include "vernier/analysis/debug/debug.h"
#include "vernier/report/envelope.h"

namespace vernier {

struct DebugSubject {
  RunDescription run;
  double low_db = 20;                    // below: red
  double good_db = 40;                   // above: green
  int top = 10;                          // rows of each table of the worst
  std::string keep_command = {};         // that keeps set_to_keep() in float; empty: there is none
  std::vector<std::string> tokens = {};  // of the run map, as text; empty: their ids are shown
};

std::vector<std::string> debug_notes(const DebugResult& result);

// The result in a few plain sentences.
std::string debug_conclusion(const DebugResult& result);

// What is lost in how the quantized model runs here; empty where it is too little to be told.
std::string debug_loss_text(const DebugSubject& subject, const DebugResult& result);

Document describe_debug(const DebugSubject& subject, const DebugResult& result);

// Schema: docs/schemas/debug.schema.json.
std::string debug_json(const DebugSubject& subject, const DebugResult& result);

}  // namespace vernier
