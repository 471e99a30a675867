#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace vernier {

// A line of Python that a node comes from.
struct SourceLine {
  std::string file;
  int line = 0;
  std::string text;  // as the exporter saw it
};

// The innermost frame of a Python stack trace, as PyTorch's exporter stores it; nothing where there
// is none.
std::optional<SourceLine> innermost_frame(std::string_view trace);

// The lines around every line that was added, as far as the files are here.
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
