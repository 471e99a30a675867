#pragma once

#include <string>

#include "vernier/analysis/diff.h"
#include "vernier/report/envelope.h"

namespace vernier {

struct DiffSubject {
  RunDescription run;
  bool by_sample = false;  // the leading axis is the samples
  int top = 0;             // if above 0, text shows only this many pairs, worst first
};

Document describe_diff(const DiffSubject& subject, const DiffResult& result);

// Every pair, in file order. Schema: docs/schemas/diff.schema.json.
std::string diff_json(const DiffSubject& subject, const DiffResult& result);

}  // namespace vernier
