#include "vernier/runtime/ort_session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <onnxruntime_cxx_api.h>
#include <onnxruntime_session_options_config_keys.h>

#include <algorithm>
#include <cstdio>
#include <regex>

namespace vernier {
namespace {

constexpr std::string_view provider_suffix = "ExecutionProvider";

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

void log_line(void*, OrtLoggingLevel level, const char*, const char*, const char*,
              const char* message) {
  const char* severity = level >= ORT_LOGGING_LEVEL_ERROR ? "error" : "warning";
  fmt::print(stderr, "vernier: onnxruntime {}: {}\n", severity, one_line(message));
}

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

// "CUDAExecutionProvider" is called "cuda" here.
std::string short_name(std::string provider) {
  if (provider.ends_with(provider_suffix))
    provider.resize(provider.size() - provider_suffix.size());
  return lower(provider);
}

std::string full_name(const std::string& provider) {
  for (const std::string& name : Ort::GetAvailableProviders())
    if (short_name(name) == short_name(provider)) return name;
  throw Error(fmt::format("[onnxruntime] execution provider '{}': not in this build, which has {}",
                          provider, fmt::join(available_providers(), ", ")));
}

void append_provider(Ort::SessionOptions& session, const OrtOptions& options) {
  std::string name = full_name(options.provider);
  if (name == "CPUExecutionProvider") return;
  // The generic call wants the short spelling for most providers ("XNNPACK", "CUDA").
  name.resize(name.size() - provider_suffix.size());
  const std::unordered_map<std::string, std::string> settings(options.provider_options.begin(),
                                                              options.provider_options.end());
  try {
    session.AppendExecutionProvider(name, settings);
  } catch (const Ort::Exception& error) {
    throw Error(fmt::format("[onnxruntime] execution provider '{}': cannot be used: {}",
                            options.provider, one_line(error.what())));
  }
}

GraphOptimizationLevel ort_level(Optimization level) {
  switch (level) {
    case Optimization::disabled: return ORT_DISABLE_ALL;
    case Optimization::basic: return ORT_ENABLE_BASIC;
    case Optimization::extended: return ORT_ENABLE_EXTENDED;
    default: return ORT_ENABLE_ALL;
  }
}

}  // namespace

const Ort::Env& ort_environment() {
  static const Ort::Env environment(ORT_LOGGING_LEVEL_WARNING, "vernier", log_line, nullptr);
  return environment;
}

void configure_session(Ort::SessionOptions& session, const OrtOptions& options, Optimization level,
                       const Model& model) {
  session.SetGraphOptimizationLevel(ort_level(level));
  session.SetExecutionMode(ORT_SEQUENTIAL);
  session.SetIntraOpNumThreads(options.threads);
  const std::string folder = model.folder().empty() ? "." : model.folder().string();
  session.AddConfigEntry("session.model_external_initializers_file_folder_path", folder.c_str());
  append_provider(session, options);
}

Error ort_error(const std::string& model, const std::string& message) {
  static const std::regex at_node(
      R"(.*while running (\S+) node\. Name:'([^']*)'\s*(?:Status Message:\s*)?(.*))");
  const std::string line = one_line(message);
  if (std::smatch match; std::regex_match(line, match, at_node))
    return Error(fmt::format("[onnxruntime] {}: node '{}' ({}): {}", model, match[2].str(),
                             match[1].str(), match[3].str()));
  return Error(fmt::format("[onnxruntime] {}: {}", model, line));
}

std::vector<std::string> available_providers() {
  std::vector<std::string> names = Ort::GetAvailableProviders();
  std::ranges::transform(names, names.begin(), short_name);
  return names;
}

}  // namespace vernier
