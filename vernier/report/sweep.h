#pragma once

#include <string>

#include "vernier/analysis/quantize/sweep.h"
#include "vernier/report/envelope.h"

namespace vernier {

struct SweepSubject {
  RunDescription run;
};

Document describe_sweep(const SweepSubject& subject, const SweepResult& result);

// Schema: docs/schemas/sweep.schema.json.
std::string sweep_json(const SweepSubject& subject, const SweepResult& result);

}  // namespace vernier
