#pragma once

#include <memory>
#include <string>
#include <vector>

#include "vernier/error.h"
#include "vernier/model/model.h"

namespace Ort {
struct Env;
struct Session;
struct SessionOptions;
}  // namespace Ort

struct OrtCustomOpDomain;

namespace vernier {

// The process's ONNX Runtime environment, without telemetry; what it logs is collected for
// runtime_messages(). Must be made before anything else of ONNX Runtime's is used.
const Ort::Env& ort_environment();

// The files beside the model that hold its weights, as they are now. Throws Error for those that
// are not in its folder. ONNX Runtime reads weights from them during each run, so check afterwards
// that they are unchanged.
std::vector<std::shared_ptr<const MappedFile>> open_external_files(const Model& model);

// A session that runs the model. No copy of the weights is made on the way: those in the model file
// are streamed to ONNX Runtime, external data is opened by it.
Ort::Session create_session(const Model& model, Ort::SessionOptions& options);

// The same for a session that only loads the model: all weights are given as external data.
Ort::Session create_session_by_reference(const Model& model, Ort::SessionOptions& options);

// Opens a session with these custom operators and drops it: the first of a process that has them
// enters their domain in a table of ONNX Runtime's, which two at the same time cannot do.
void register_domain(OrtCustomOpDomain* domain);

// What ONNX Runtime said, as one line that names the model, and the node if there is one.
Error ort_error(const std::string& model, std::string message);

}  // namespace vernier
