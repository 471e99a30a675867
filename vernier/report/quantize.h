#pragma once

#include <string>
#include <vector>

#include "vernier/analysis/quantize/calibration_data.h"
#include "vernier/analysis/quantize/quantize.h"
#include "vernier/report/envelope.h"

namespace vernier {

// Names and sizes of the files.
struct QuantizeFiles {
  std::string quantized, floating;  // file names
  std::int64_t source_bytes = 0, quantized_bytes = 0;
};

template <typename Json>
void to_json(Json& json, const QuantizeFiles& files) {
  json = {{"quantized", files.quantized},
          {"float", files.floating},
          {"source_bytes", files.source_bytes},
          {"quantized_bytes", files.quantized_bytes}};
}

struct QuantizeSubject {
  RunDescription run;
  QuantizeFiles files;
  int top = 10;  // rejected decisions that the table shows
};

// The warnings behind what the data leaves in doubt.
std::vector<Warning> with_doubts(const CalibrationData& data, std::vector<Warning> warnings);

Document describe_quantize(const QuantizeSubject& subject, const QuantizeResult& result);

// Schema: docs/schemas/quantize.schema.json.
std::string quantize_json(const QuantizeSubject& subject, const QuantizeResult& result);

}  // namespace vernier
