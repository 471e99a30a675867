#pragma once

#include <string>

#include "vernier/analysis/diagnosis.h"
#include "vernier/report/envelope.h"

namespace vernier {

// One screen: a line for each question with its answer, the cause, what brings the outputs back by
// how much, and the command for it.
Document describe_diagnosis(const RunDescription& run, const DiagnosisResult& result);

// The answers, cause and remedies, and under their commands' names the results that they rest on.
// Schema: docs/schemas/diagnose.schema.json.
std::string diagnosis_json(const RunDescription& run, const DiagnosisResult& result);

// "the weights are not the reference's: conv3 is 187 steps off"
std::string cause_text(const DiagnosisResult& result);

// "keep /conv1/Conv in float: 12.1 -> 24.7 dB"
std::string remedy_text(const Remedy& remedy);

}  // namespace vernier
