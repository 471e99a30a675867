#include "vernier/runtime/ort_session.h"

#include <fmt/format.h>
#include <onnxruntime_cxx_api.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <regex>

#include "vernier/model/skeleton.h"
#include "vernier/model/tensor_data.h"
#include "vernier/runtime/pipe.h"

namespace vernier {
namespace {

// kOrtSessionOptionsModelExternalInitializersFileFolderPath, newer than some headers.
constexpr const char* external_folder_key = "session.model_external_initializers_file_folder_path";

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

// Errors are left out: what they say comes as an exception too.
void log_line(void*, OrtLoggingLevel level, const char*, const char*, const char*,
              const char* message) {
  if (level == ORT_LOGGING_LEVEL_ERROR) return;
  fmt::print(stderr, "vernier: onnxruntime: {}\n", one_line(message));
}

// Whether any weight is in a file beside the model; refuses those that are not in its folder.
bool has_external_files(const Model& model) {
  bool found = false;
  for (const auto& weight : model.graph().initializer()) {
    if (!has_external_data(weight) || model.is_inside(weight)) continue;
    resolve_external(model.folder(), external_data(weight).location);
    found = true;
  }
  return found;
}

Ort::Session from_bytes(const Model& model, const std::string& bytes,
                        Ort::SessionOptions& options) {
  const std::string folder = model.folder().empty() ? "." : model.folder().string();
  options.AddConfigEntry(external_folder_key, folder.c_str());
  return Ort::Session(ort_environment(), bytes.data(), bytes.size(), options);
}

Ort::Session from_pipe(const Rope& rope, const Ort::SessionOptions& options) {
  const Pipe pipe(rope);
  return Ort::Session(ort_environment(), pipe.path().c_str(), options);
}

}  // namespace

const Ort::Env& ort_environment() {
  static const Ort::Env environment(ORT_LOGGING_LEVEL_WARNING, "vernier", log_line, nullptr);
  return environment;
}

Ort::Session create_session(const Model& model, Ort::SessionOptions& options) {
  const bool external_files = has_external_files(model);
  const Rope rope = model.pieces();
  if (rope.size() > std::numeric_limits<int>::max())
    return create_session_by_reference(model, options);
  try {
    return external_files ? from_bytes(model, flatten(rope), options) : from_pipe(rope, options);
  } catch (const Ort::Exception& error) {
    throw ort_error(model.name(), error.what());
  }
}

Ort::Session create_session_by_reference(const Model& model, Ort::SessionOptions& options) {
  has_external_files(model);
  try {
    return from_bytes(model, model.proto().SerializeAsString(), options);
  } catch (const Ort::Exception& error) {
    throw ort_error(model.name(), error.what());
  }
}

Error ort_error(const std::string& model, std::string message) {
  static const std::regex noise(
      R"(Load model from /proc/self/fd/\d+ failed:\s*|/onnxruntime_src/\S+:\d+ .*?\) (\[with [^\]]*\] )?)");
  static const std::regex at_node(
      R"(.*while running (\S+) node\. Name:'([^']*)'\s*(?:Status Message:\s*)?(.*))");
  message = std::regex_replace(one_line(std::move(message)), noise, "");
  if (std::smatch match; std::regex_match(message, match, at_node))
    message = fmt::format("node '{}' ({}): {}", match[2].str(), match[1].str(), match[3].str());
  return Error(fmt::format("[onnxruntime] {}: {}", model, message));
}

}  // namespace vernier
