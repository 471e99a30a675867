#include "vernier/exporting/exporter.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "vernier/error.h"
#include "vernier/exporting/process.h"
#include "vernier/exporting/python.h"
#include "vernier/version.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

// Runs the package vernier_export with Python.
ProcessResult run_exporter(const std::string& python, const std::vector<std::string>& arguments) {
  // Passes the package's path: Python would search for its name in the current folder first.
  std::vector<std::string> command = {python, "-B",
                                      (python_packages("[export]") / "vernier_export").string()};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return run_process(command);
}

std::vector<std::string> arguments(const ExportOptions& options, const fs::path& folder) {
  std::vector<std::string> list = {
      options.source,     "--output", folder.string(), "--seed", std::to_string(options.seed),
      "--error-to-stdout"};
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) list.push_back(name + "=" + value);
  };
  add("--task", options.task);
  add("--weights", options.weights.string());
  add("--shape", options.shape);
  add("--exporter", options.exporter);
  add("--opset", options.opset ? std::to_string(options.opset) : "");
  add("--dynamic", options.dynamic);
  if (options.instrument) list.push_back("--instrument");
  if (options.allow_frozen) list.push_back("--allow-frozen");
  return list;
}

fs::path cache_folder() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && fs::path(cache).is_absolute())
    return fs::path(cache) / "vernier";
  if (const char* home = std::getenv("HOME")) return fs::path(home) / ".cache" / "vernier";
  throw Error("[export] no place for the cache of models: set XDG_CACHE_HOME or HOME");
}

bool is_function(const std::string& source) { return source.find(':') != std::string::npos; }

// Path, size and modification time of a file, or of each file in a folder.
std::string fingerprint(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) {
    const auto time = fs::last_write_time(path, ignored).time_since_epoch().count();
    return fmt::format("{} {} {}\n", path.string(), fs::file_size(path, ignored), time);
  }
  std::vector<std::string> lines;
  for (const auto& entry : fs::directory_iterator(path, ignored))
    if (entry.is_regular_file()) lines.push_back(fingerprint(entry.path()));
  std::ranges::sort(lines);
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

// All that the export depends on, except `instrument`: is_current() checks that.
std::string cache_key(const ExportOptions& options) {
  const ProcessResult versions =
      run_exporter(find_python("[export]", options.python), {"--versions"});
  if (versions.exit_code != 0)
    throw Error(fmt::format("[export] {}: cannot ask Python for its versions", options.source));
  std::string key = fmt::format(
      "vernier {}\nsource {}\ntask {}\nseed {}\nshape {}\nopset {}\ndynamic {}\nfrozen {}\n"
      "exporter {}\n{}",
      version(), options.source, options.task, options.seed, options.shape, options.opset,
      options.dynamic, options.allow_frozen, options.exporter, versions.out);
  if (!options.weights.empty()) key += fingerprint(fs::absolute(options.weights));
  if (fs::exists(options.source)) key += fingerprint(fs::absolute(options.source));
  return key;
}

// FNV-1a, 64 bits. It only names the folder; key.txt in it holds the key itself.
std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325u;
  for (const unsigned char byte : text) value = (value ^ byte) * 0x100000001b3u;
  return value;
}

std::string readable(std::string source) {
  std::ranges::replace_if(
      source, [](unsigned char c) { return !std::isalnum(c) && c != '-' && c != '.'; }, '_');
  return source;
}

std::string read_text(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_current(const fs::path& folder, const std::string& key, bool instrument) {
  const ExportedModel found = exported_in(folder);
  return read_text(folder / "key.txt") == key && fs::exists(found.onnx) &&
         fs::exists(found.sidecar) && (!instrument || !found.layers.empty());
}

}  // namespace

ExportedModel exported_in(const fs::path& folder) {
  const fs::path layers = folder / "model.layers.onnx", torchscript = folder / "model.pt";
  return {.onnx = folder / "model.onnx",
          .torchscript = fs::exists(torchscript) ? torchscript : fs::path(),
          .sidecar = folder / "model.json",
          .layers = fs::exists(layers) ? layers : fs::path()};
}

ExportedModel export_model(const ExportOptions& options, const fs::path& folder) {
  const std::string python = find_python("[export]", options.python);
  const ProcessResult result = run_exporter(python, arguments(options, folder));
  if (result.exit_code != 0) {
    const std::string reason = last_line(result.out);
    throw Error(reason.starts_with("[export]")
                    ? reason
                    : fmt::format("[export] {}: {} ended with exit code {}", options.source, python,
                                  result.exit_code));
  }
  return exported_in(folder);
}

bool is_export_source(const std::string& text) {
  if (fs::is_directory(text))  // a Hugging Face folder without an export in it
    return fs::exists(fs::path(text) / "config.json") && !fs::exists(exported_in(text).onnx);
  if (text.starts_with('/') || text.starts_with('.')) return is_function(text);  // a path
  constexpr std::array<std::string_view, 9> files = {
      ".onnx", ".pt", ".pt2", ".pth", ".jit", ".ts", ".torchscript", ".npz", ".npy"};
  return !fs::exists(text) && std::ranges::find(files, fs::path(text).extension()) == files.end();
}

ExportedModel resolve_model(const ExportOptions& options, bool rebuild) {
  const std::string key = cache_key(options);
  const fs::path folder =
      cache_folder() / fmt::format("{}-{:016x}", readable(options.source), hash(key));
  if (!rebuild && !is_function(options.source) && is_current(folder, key, options.instrument))
    return exported_in(folder);
  fs::remove(folder / "key.txt");
  const ExportedModel exported = export_model(options, folder);
  std::ofstream(folder / "key.txt") << key;
  return exported;
}

}  // namespace vernier
