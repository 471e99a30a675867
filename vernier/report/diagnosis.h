#pragma once

#include <string>

#include "vernier/analysis/diagnosis/diagnosis.h"
#include "vernier/report/envelope.h"

namespace vernier {

// A diagnosis and the arguments it was asked with, which the command of a remedy repeats.
struct DiagnosisSubject {
  RunDescription run;
  std::string candidate, reference;
  std::string data;    // as quantize and repair are told of the inputs: "--data x.npz"; "": made up
  std::string report;  // the file that holds the whole result, or ""
};

// One screen: a line for each question with its answer, the cause, what brings the outputs back by
// how much, and the command for it.
Document describe_diagnosis(const DiagnosisSubject& subject, const DiagnosisResult& result);

// The answers, cause and remedies, and under their commands' names the results that they rest on.
// Schema: docs/schemas/diagnose.schema.json.
std::string diagnosis_json(const DiagnosisSubject& subject, const DiagnosisResult& result);

// "the weights are not the reference's: conv3 is 187 steps off"
std::string cause_text(const DiagnosisResult& result);

// "keep /conv1/Conv in float: 12.1 -> 24.7 dB"
std::string remedy_text(const Remedy& remedy);

// "vernier repair model.int8.onnx --reference model.onnx --data x.npz -o model.int8.repaired.onnx";
// "" where no command applies it.
std::string remedy_command(const DiagnosisSubject& subject, const Remedy& remedy);

}  // namespace vernier
