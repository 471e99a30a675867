#pragma once

#include <map>
#include <set>
#include <string>

namespace vernier {

// Names successive calls of modules: the first call of `path` is "path", the next "path_1", and so
// on; names that are paths of other modules are skipped.
class CallNames {
 public:
  explicit CallNames(std::set<std::string> module_paths) : module_paths_(std::move(module_paths)) {}

  std::string next(const std::string& path) {
    const auto [entry, first] = counts_.emplace(path, 0);
    if (first) return path;
    std::string name;
    do {
      name = path + "_" + std::to_string(++entry->second);
    } while (module_paths_.contains(name));
    return name;
  }

  void restart() { counts_.clear(); }

 private:
  std::set<std::string> module_paths_;
  std::map<std::string, int> counts_;
};

}  // namespace vernier
