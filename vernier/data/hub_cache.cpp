#include "vernier/data/hub_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <vector>

#include "vernier/data/read_file.h"
#include "vernier/error.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

fs::path variable(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

bool is_hub_word(std::string_view word) {
  return !word.empty() && word.front() != '.' && word.find("..") == word.npos &&
         std::ranges::all_of(word, [](unsigned char c) {
           return std::isalnum(c) || c == '-' || c == '_' || c == '.';
         });
}

// The commit that `main` points to, cut at the first non-alphanumeric character, so that it cannot
// contain a path.
std::string main_commit(const fs::path& folder) {
  const fs::path reference = folder / "refs" / "main";
  if (!fs::is_regular_file(reference)) return "";
  const auto bytes = read_file(reference, "dataset");
  std::string commit(as_text(bytes));
  commit.erase(std::ranges::find_if_not(commit, [](unsigned char c) { return std::isalnum(c); }),
               commit.end());
  return commit;
}

fs::path repository(const char* kind, const std::string& id) {
  const auto slash = id.find('/');
  return hub_cache() / fmt::format("{}--{}--{}", kind, id.substr(0, slash), id.substr(slash + 1));
}

fs::path find_snapshot(const fs::path& folder) {
  const fs::path snapshots = folder / "snapshots";
  if (!fs::is_directory(snapshots)) return {};
  const std::string commit = main_commit(folder);
  if (!commit.empty() && fs::is_directory(snapshots / commit)) return snapshots / commit;
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(snapshots)) found.push_back(entry.path());
  return found.size() == 1 ? found[0] : fs::path();
}

}  // namespace

bool is_hub_id(const std::string& name) {
  const auto slash = name.find('/');
  return slash != name.npos && is_hub_word(std::string_view(name).substr(0, slash)) &&
         is_hub_word(std::string_view(name).substr(slash + 1));
}

fs::path hub_cache() {
  if (const fs::path cache = variable("HF_HUB_CACHE"); !cache.empty()) return cache;
  if (const fs::path home = variable("HF_HOME"); !home.empty()) return home / "hub";
  if (const fs::path cache = variable("XDG_CACHE_HOME"); !cache.empty())
    return cache / "huggingface" / "hub";
  return variable("HOME") / ".cache" / "huggingface" / "hub";
}

fs::path find_hub_dataset(const std::string& id) {
  if (const fs::path snapshot = find_snapshot(repository("datasets", id)); !snapshot.empty())
    return snapshot;
  throw Error(
      fmt::format("[dataset] {0}: no such file or folder, and not in the Hugging Face cache {1}; "
                  "download it with `huggingface-cli download --repo-type dataset {0}`",
                  id, hub_cache().string()));
}

std::optional<fs::path> find_hub_model(const std::string& id) {
  if (!is_hub_id(id)) return std::nullopt;
  const fs::path snapshot = find_snapshot(repository("models", id));
  return snapshot.empty() ? std::nullopt : std::optional(snapshot);
}

}  // namespace vernier
