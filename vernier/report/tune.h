#pragma once

#include <string>

#include "vernier/analysis/quantize/tune.h"
#include "vernier/report/quantize.h"

namespace vernier {

struct TuneSubject {
  RunDescription run;
  QuantizeFiles files;
  Limit target;
  TuneCost cost = TuneCost::nodes;
  std::string kept_by = "--keep-float";  // option that keeps the same nodes in quantize
  int top = 10;                          // rows in the table of groups
};

Document describe_tune(const TuneSubject& subject, const TuneResult& result);

// Schema: docs/schemas/tune.schema.json.
std::string tune_json(const TuneSubject& subject, const TuneResult& result);

}  // namespace vernier
