#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "vernier/error.h"
#include "vernier/model/model.h"
#include "vernier/runtime/ort_options.h"

namespace Ort {
struct Env;
struct Session;
struct SessionOptions;
}  // namespace Ort

struct OrtCustomOpDomain;

namespace vernier {

// The process's ONNX Runtime environment, without telemetry; its log is collected for
// runtime_messages(). Call this before using any other part of ONNX Runtime.
const Ort::Env& ort_environment();

// Session options with the threads, execution provider and settings of `options`. Throws Error if
// the provider cannot be used.
Ort::SessionOptions session_options(const OrtOptions& options, Optimization level);

// Maps the external data files of the model's weights. Throws Error for a file outside the model's
// folder. ONNX Runtime reads weights from these files during each run, so check afterwards that
// they are unchanged.
std::vector<std::shared_ptr<const MappedFile>> open_external_files(const Model& model);

// A session that runs the model. Weights are not copied: those in the model file are streamed to
// ONNX Runtime, which opens external data itself.
Ort::Session create_session(const Model& model, Ort::SessionOptions& options);

// A session that only loads the model: all weights are passed as references to external data.
Ort::Session create_session_by_reference(const Model& model, Ort::SessionOptions& options);

// Opens and closes a session with these custom operators. The first session with a new domain
// writes it into a global table of ONNX Runtime, which is not thread-safe.
void register_domain(OrtCustomOpDomain* domain);

// Registers the domain of the custom operators `Op` at the first call.
template <typename Op>
void register_domain_once() {
  static std::once_flag registered;
  std::call_once(registered, [] { register_domain(Op().domain()); });
}

// ONNX Runtime's message as one line that names the model, and the node if the message names one.
Error ort_error(const std::string& model, std::string message);

}  // namespace vernier
