#pragma once

#include <string>

#include "vernier/analysis/diagnosis/diagnosis.h"
#include "vernier/report/envelope.h"

namespace vernier {

// The arguments of a diagnosis, which the commands of remedies repeat.
struct DiagnosisSubject {
  RunDescription run;
  std::string candidate, reference;
  std::string data;    // option for quantize and repair, "--data x.npz"; empty if synthetic
  std::string report;  // file that holds the whole result; may be empty
};

// One screen: each question with its answer, the cause, and each remedy with its measured gain and
// its command.
Document describe_diagnosis(const DiagnosisSubject& subject, const DiagnosisResult& result);

// The answers, cause and remedies, and the results that they rest on, under the names of their
// commands. Schema: docs/schemas/diagnose.schema.json.
std::string diagnosis_json(const DiagnosisSubject& subject, const DiagnosisResult& result);

// "the weights are not the same: conv3 is 187 steps off"
std::string cause_text(const DiagnosisResult& result);

// "12.10 -> 24.70 dB with /conv1/Conv kept in float"
std::string remedy_text(const Remedy& remedy);

// "vernier repair model.int8.onnx --reference model.onnx --data x.npz -o model.int8.repaired.onnx";
// empty if no command applies the remedy.
std::string remedy_command(const DiagnosisSubject& subject, const Remedy& remedy);

}  // namespace vernier
