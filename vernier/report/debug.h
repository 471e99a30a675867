#pragma once

#include <string>

#include "vernier/analysis/debug/debug.h"
#include "vernier/report/document.h"

namespace vernier {

struct DebugSubject {
  std::string float_model;
  std::string quantized_model;
  std::string inputs;   // "random uniform, seed 42" or the data's file name
  double low_db = 20;   // below: red
  double good_db = 40;  // above: green
  int top = 10;         // rows of each table of the worst
  std::vector<Limit> limits;
};

std::string debug_note(const DebugNote& note);

// The result in a few plain sentences.
std::string debug_conclusion(const DebugResult& result);

Document describe_debug(const DebugSubject& subject, const DebugResult& result);

// Schema: docs/schemas/debug.schema.json.
std::string debug_json(const DebugSubject& subject, const DebugResult& result);

}  // namespace vernier
