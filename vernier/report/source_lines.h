#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/model/scope.h"

namespace vernier {

// Collects the source lines around each added line, from files that exist on this machine.
class SourceLines {
 public:
  std::optional<SourceLine> add(std::string_view trace);

  // {file: {line number: text}}
  template <typename Json>
  Json json() const {
    Json files = Json::object();
    for (const auto& [file, lines] : shown_)
      for (const auto& [number, text] : lines) files[file][std::to_string(number)] = text;
    return files;
  }

 private:
  const std::vector<std::string>& lines_of(const std::string& file);

  std::map<std::string, std::vector<std::string>> files_;
  std::map<std::string, std::map<int, std::string>> shown_;
};

}  // namespace vernier
