#include "vernier/runtime/ort_session.h"

#include <fmt/format.h>
#include <onnxruntime_cxx_api.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <regex>
#include <unordered_map>

#include "vernier/activity.h"
#include "vernier/model/skeleton.h"
#include "vernier/model/tensor_data.h"
#include "vernier/runtime/ort_library.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/runtime/pipe.h"
#include "vernier/tensor/mapped_file.h"

namespace vernier {
namespace {

// The value of kOrtSessionOptionsModelExternalInitializersFileFolderPath, which older headers lack.
constexpr const char* external_folder_key = "session.model_external_initializers_file_folder_path";

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

// Counts equal messages: many nodes and sessions log the same text.
class MessageLog {
 public:
  void add(std::string text) {
    const std::lock_guard lock(mutex_);
    const bool full = messages_.size() == most_messages && !index_.contains(text);
    if (full) text = "further messages";
    const auto [entry, is_new] = index_.emplace(std::move(text), messages_.size());
    if (is_new) messages_.push_back({entry->first, 0});
    ++messages_[entry->second].count;
  }

  std::vector<RuntimeMessage> messages() const {
    const std::lock_guard lock(mutex_);
    return messages_;
  }

 private:
  static constexpr std::size_t most_messages = 1000;
  mutable std::mutex mutex_;
  std::vector<RuntimeMessage> messages_;
  std::unordered_map<std::string, std::size_t> index_;
};

// Never destroyed: ONNX Runtime may log while the process ends.
MessageLog& message_log() {
  static auto& log = *new MessageLog;
  return log;
}

void log_line(void*, OrtLoggingLevel, const char*, const char*, const char*, const char* message) {
  message_log().add(one_line(message));
}

Ort::Env quiet_environment() {
  ort_library();
  Ort::Env environment(ORT_LOGGING_LEVEL_WARNING, "vernier", log_line, nullptr);
  environment.DisableTelemetryEvents();
  return environment;
}

Ort::Session from_bytes(const Model& model, const std::string& bytes,
                        Ort::SessionOptions& options) {
  const std::string folder = model.folder().empty() ? "." : model.folder().string();
  options.AddConfigEntry(external_folder_key, folder.c_str());
  return Ort::Session(ort_environment(), bytes.data(), bytes.size(), options);
}

Ort::Session from_pipe(const Model& model, const Rope& rope, const Ort::SessionOptions& options) {
  const Pipe pipe(rope);
  try {
    return Ort::Session(ort_environment(), pipe.path().c_str(), options);
  } catch (const Ort::Exception&) {
    if (!pipe.was_cut_off()) throw;
    throw Error(
        fmt::format("[file] {}: was cut off while it was read; restore it, and leave it "
                    "alone while it is in use",
                    model.name()));
  }
}

// The session that open(has external files) makes of the model, whose files must stay as they are.
template <typename Open>
Ort::Session open_session(const Model& model, const Open& open) {
  const auto external_files = open_external_files(model);
  const Activity loading(ForeignCode::onnxruntime, ForeignWork::loading, model.name());
  try {
    Ort::Session session = open(!external_files.empty());
    for (const auto& file : external_files) file->require_unchanged();
    return session;
  } catch (const Ort::Exception& error) {
    throw ort_error(model.name(), error.what());
  }
}

Model smallest_model() {
  ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(13);
  auto& graph = *model.mutable_graph();
  graph.set_name("nothing");
  auto& input = *graph.add_input();
  input.set_name("x");
  input.mutable_type()->mutable_tensor_type()->set_elem_type(ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT);
  auto& node = *graph.add_node();
  node.set_op_type("Identity");
  node.add_input("x");
  node.add_output("y");
  graph.add_output()->set_name("y");
  return Model(std::move(model), {});
}

bool tells_of_memory(const std::string& message) {
  static const std::regex pattern(
      "std::bad_alloc|bad allocation|Failed to allocate memory|ran out of memory|vector::_M_");
  return std::regex_search(message, pattern);
}

// The message without source locations, function names and failed conditions of ONNX Runtime's own
// code.
std::string without_internals(const std::string& message) {
  static const std::regex internals(R"(Load model from /proc/self/fd/\d+ failed:\s*)"
                                    R"(|/onnxruntime_src/\S+:\d+ .*?\) (\[with [^\]]*\] )?)"
                                    R"(|(\.\.?/)*[\w/-]+\.(cc|cpp|h|hpp):\d+ [\w:~<>]+(\(.*?\))? )"
                                    R"(|\[ONNXRuntimeError\] : \d+ : \w+ : )"
                                    R"(|Exception during initialization: )"
                                    R"(|[\w.]+\(\) was false\. )");
  return std::regex_replace(message, internals, "");
}

}  // namespace

void register_domain(OrtCustomOpDomain* domain) {
  static std::mutex registering;
  const std::lock_guard lock(registering);
  Ort::SessionOptions session = session_options({.threads = 1}, Optimization::disabled);
  session.Add(domain);
  create_session(smallest_model(), session);
}

const Ort::Env& ort_environment() {
  static const Ort::Env environment = quiet_environment();
  return environment;
}

std::vector<RuntimeMessage> runtime_messages() { return message_log().messages(); }

std::vector<std::shared_ptr<const MappedFile>> open_external_files(const Model& model) {
  std::map<std::string, std::shared_ptr<const MappedFile>> files;
  for (const auto& weight : model.graph().initializer()) {
    if (!has_external_data(weight) || model.is_inside(weight)) continue;
    const std::string location = external_data(weight).location;
    auto& file = files[location];
    if (!file)
      file = std::make_shared<const MappedFile>(resolve_external(model.folder(), location));
  }
  std::vector<std::shared_ptr<const MappedFile>> opened;
  for (auto& [location, file] : files) opened.push_back(std::move(file));
  return opened;
}

Ort::Session create_session(const Model& model, Ort::SessionOptions& options) {
  const Rope rope = model.pieces();
  if (rope.size() > std::numeric_limits<int>::max())
    return create_session_by_reference(model, options);
  return open_session(model, [&](bool has_external_files) {
    Ort::Session session = has_external_files ? from_bytes(model, flatten(rope), options)
                                              : from_pipe(model, rope, options);
    if (rope.file) rope.file->require_unchanged();
    return session;
  });
}

Ort::Session create_session_by_reference(const Model& model, Ort::SessionOptions& options) {
  return open_session(
      model, [&](bool) { return from_bytes(model, model.proto().SerializeAsString(), options); });
}

Error ort_error(const std::string& model, std::string message) {
  static const std::regex at_node(
      R"(.*while running (\S+) node\. Name:'([^']*)'\s*(?:Status Message:\s*)?(.*))");
  message = one_line(std::move(message));
  std::string node;
  if (std::smatch match; std::regex_match(message, match, at_node)) {
    node = fmt::format("node '{}' ({}): ", match[2].str(), match[1].str());
    message = match[3].str();
  }
  if (tells_of_memory(message))
    return Error(
        fmt::format("[memory] {}: {}there is not enough memory; use a smaller --batch or --shape, "
                    "or a machine with more memory",
                    model, node));
  return Error(fmt::format("[onnxruntime] {}: {}{}", model, node, without_internals(message)));
}

}  // namespace vernier
