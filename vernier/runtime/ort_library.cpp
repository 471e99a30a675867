#include "vernier/runtime/ort_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <onnxruntime_cxx_api.h>

#include <cstdlib>
#include <mutex>
#include <optional>

#include "vernier/error.h"
#include "vernier/installation.h"
#include "vernier/version.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

constexpr const char* system_name = "libonnxruntime.so.1";

// The required version, and the remedy for an older library.
const std::string needed = fmt::format(
    "1.{} or later: pip install --upgrade onnxruntime, or name another with --onnxruntime FILE",
    ORT_API_VERSION);

std::mutex mutex;
fs::path chosen;
std::optional<OrtLibrary> loaded;

// The C library inside Python's package `onnxruntime`; the package is not imported. Empty if the
// package is not installed. Throws Error if the package is too old to contain the library.
fs::path of_python() {
  for (const fs::path& folder : python_environment().folders) {
    const fs::path package = folder / "onnxruntime" / "capi";
    if (!fs::is_directory(package)) continue;
    for (const auto& entry : fs::directory_iterator(package))
      if (entry.path().filename().string().starts_with("libonnxruntime.so")) return entry.path();
    throw Error(
        fmt::format("[onnxruntime] {}: is too old to have a libonnxruntime.so; Vernier needs {}",
                    package.string(), needed));
  }
  return {};
}

// Debian's library has the minor version in its name: libonnxruntime.so.1.21.
constexpr int newest_system_minor = 99;

// The file to load, and where the choice comes from.
struct Choice {
  fs::path file;
  std::string origin;
};

Choice choose() {
  if (!chosen.empty()) return {chosen, "--onnxruntime"};
  if (const char* file = std::getenv("VERNIER_ONNXRUNTIME"); file != nullptr && *file != '\0')
    return {file, "VERNIER_ONNXRUNTIME"};
  if (fs::path file = of_python(); !file.empty()) return {std::move(file), "Python's onnxruntime"};
  if (fs::path file = installed_file(system_name); !file.empty())
    return {std::move(file), "Vernier's own"};
  return {system_name, "the system's"};
}

void* open(const fs::path& file) { return dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL); }

void* open(const Choice& choice) {
  if (void* handle = open(choice.file)) return handle;
  const std::string reason = dlerror();
  if (choice.file == system_name)
    for (int minor = newest_system_minor; minor >= ORT_API_VERSION; --minor)
      if (void* handle = open(fs::path(fmt::format("{}.{}", system_name, minor)))) return handle;
  throw Error(fmt::format(
      "[onnxruntime] {} ({}) cannot be loaded: {}; install it (pip install onnxruntime), or name "
      "its libonnxruntime.so with --onnxruntime FILE",
      choice.file.string(), choice.origin, reason));
}

// The minor version: 20 for "1.20.1".
int minor_of(const std::string& version) {
  const std::size_t dot = version.find('.');
  return dot == std::string::npos ? 0 : std::atoi(version.c_str() + dot + 1);
}

OrtLibrary load(const Choice& choice) {
  // ONNX Runtime 1.29 and later read this variable when they are loaded.
  setenv("ORT_DISABLE_TELEMETRY", "1", 1);
  void* const handle = open(choice);
  void* const symbol = dlsym(handle, "OrtGetApiBase");
  if (symbol == nullptr)
    throw Error(fmt::format("[onnxruntime] {} ({}) is no ONNX Runtime: it has no OrtGetApiBase",
                            choice.file.string(), choice.origin));
  const OrtApiBase* const base = reinterpret_cast<decltype(&OrtGetApiBase)>(symbol)();
  Dl_info info{};
  dladdr(symbol, &info);
  std::error_code ignored;
  OrtLibrary library{fs::weakly_canonical(info.dli_fname, ignored), base->GetVersionString()};
  // GetApi() of a library that is too old prints an error, so it is not called.
  const OrtApi* const api =
      minor_of(library.version) < ORT_API_VERSION ? nullptr : base->GetApi(ORT_API_VERSION);
  if (api == nullptr)
    throw Error(fmt::format("[onnxruntime] {} ({}) is version {}; Vernier needs {}",
                            choice.file.string(), choice.origin, library.version, needed));
  Ort::InitApi(api);
  return library;
}

}  // namespace

void choose_ort_library(fs::path file) {
  const std::lock_guard lock(mutex);
  if (loaded)
    throw Error("[onnxruntime] a library cannot be chosen: " + loaded->file.string() +
                " is loaded already");
  chosen = std::move(file);
}

const OrtLibrary& ort_library() {
  const std::lock_guard lock(mutex);
  if (!loaded) loaded = load(choose());
  return *loaded;
}

std::string onnxruntime_version() { return ort_library().version; }
std::string onnxruntime_library() { return ort_library().file.string(); }

}  // namespace vernier
