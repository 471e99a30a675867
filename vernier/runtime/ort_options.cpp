#include "vernier/runtime/ort_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <onnxruntime_cxx_api.h>

#include <algorithm>
#include <thread>

#include "vernier/error.h"
#include "vernier/runtime/ort_library.h"
#include "vernier/runtime/ort_session.h"
#include "vernier/utf8.h"

namespace vernier {
namespace {

constexpr std::string_view suffix = "ExecutionProvider";

// "CUDA" for "CUDAExecutionProvider", as AppendExecutionProvider() expects it.
std::string without_suffix(std::string provider) {
  if (provider.ends_with(suffix)) provider.resize(provider.size() - suffix.size());
  return provider;
}

std::string find_provider(const std::string& wanted) {
  for (const std::string& name : Ort::GetAvailableProviders())
    if (provider_name(name) == provider_name(wanted)) return without_suffix(name);
  throw Error(fmt::format("[onnxruntime] execution provider '{}': not in this build, which has {}",
                          wanted, fmt::join(available_providers(), ", ")));
}

void append_provider(Ort::SessionOptions& session, const OrtOptions& options) {
  if (is_cpu(options.provider)) return;
  const std::string name = find_provider(options.provider);
  const std::unordered_map<std::string, std::string> settings(options.provider_options.begin(),
                                                              options.provider_options.end());
  try {
    session.AppendExecutionProvider(name, settings);
  } catch (const Ort::Exception& error) {
    const std::string reason = error.what();
    throw ort_error(fmt::format("execution provider '{}' is in this build but cannot be used",
                                options.provider),
                    reason.substr(0, reason.find(". ")));
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

void require_provider(const std::string& provider) {
  if (is_cpu(provider)) return;
  ort_library();
  find_provider(provider);
}

std::string provider_name(std::string provider) {
  return lower_case(without_suffix(std::move(provider)));
}

int threads_of_each(int threads, int models_at_once) {
  // More threads than cores spin for a core, and hardly any of them runs.
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  if (models_at_once <= 1) return std::min(threads, cores);
  const int all = threads > 0 ? std::min(threads, cores) : cores;
  return std::max(1, all / models_at_once);
}

bool is_cpu(const std::string& provider) { return provider_name(provider) == "cpu"; }

Ort::SessionOptions session_options(const OrtOptions& options, Optimization level) {
  ort_environment();  // some providers need it before they are appended
  Ort::SessionOptions session;
  session.SetGraphOptimizationLevel(ort_level(level));
  session.SetExecutionMode(ORT_SEQUENTIAL);
  session.SetIntraOpNumThreads(threads_of_each(options.threads, options.models_at_once));
  if (options.models_at_once > 1) session.AddConfigEntry("session.intra_op.allow_spinning", "0");
  std::vector<std::string> disabled = options.disabled_optimizers;
  if (options.exact) {
    session.AddConfigEntry("session.x64quantprecision", "1");
    // make_exact() has already converted the weights, and this optimiser would produce int8
    // activations with uint8 weights, which no kernel supports.
    disabled.emplace_back("Avx2WeightS8ToU8Transformer");
  }
  for (const auto& [key, value] : options.config)
    session.AddConfigEntry(key.c_str(), value.c_str());
  if (!disabled.empty())
    session.AddConfigEntry("optimization.disable_specified_optimizers",
                           fmt::format("{}", fmt::join(disabled, ";")).c_str());
  // Probed tensors are freed one by one; a block planned for the whole run would take more memory.
  if (options.watch.intermediates()) session.DisableMemPattern();
  append_provider(session, options);
  return session;
}

bool can_be_used(const std::string& provider) {
  try {
    Ort::SessionOptions session;
    append_provider(session, {.provider = provider});
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::vector<std::string> available_providers() {
  ort_environment();
  std::vector<std::string> names = Ort::GetAvailableProviders();
  std::ranges::transform(names, names.begin(), provider_name);
  return names;
}

}  // namespace vernier
