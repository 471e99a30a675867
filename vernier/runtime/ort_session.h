#pragma once

#include <string>

#include "vernier/error.h"
#include "vernier/runtime/ort_runner.h"

namespace Ort {
struct Env;
struct SessionOptions;
}  // namespace Ort

namespace vernier {

// The process's ONNX Runtime environment; its log lines go to stderr in our format.
const Ort::Env& ort_environment();

// Applies everything of the options but the probes. `model` stands in messages.
void configure_session(Ort::SessionOptions& session, const OrtOptions& options, Optimization level,
                       const Model& model);

// What ONNX Runtime said, as one line that names the model, and the node if there is one.
Error ort_error(const std::string& model, const std::string& message);

}  // namespace vernier
