#pragma once

#include <string>

#include "vernier/analysis/quantize/repair.h"
#include "vernier/report/envelope.h"

namespace vernier {

struct RepairSubject {
  RunDescription run;
  std::string file;  // file that is written if anything is gained
  int top = 10;      // rejected decisions that the table shows
};

Document describe_repair(const RepairSubject& subject, const RepairResult& result);

// Schema: docs/schemas/repair.schema.json.
std::string repair_json(const RepairSubject& subject, const RepairResult& result);

}  // namespace vernier
