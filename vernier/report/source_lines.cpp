#include "vernier/report/source_lines.h"

#include <algorithm>
#include <filesystem>

#include "vernier/data/read_file.h"

namespace vernier {
namespace {

constexpr int lines_around = 6;
constexpr std::uintmax_t most_bytes = std::uintmax_t{4} << 20;

// Whether `line` is `text` with whitespace around it.
bool is_line(std::string_view line, std::string_view text) {
  const std::size_t at = line.find(text);
  return at != std::string_view::npos && line.find_first_not_of(" \t") == at &&
         line.find_first_not_of(" \t\r\n", at + text.size()) == std::string_view::npos;
}

}  // namespace

// A model may name any file, and reports are shared. So only lines of .py files are shown, and only
// if the line that the exporter recorded is still in place.
std::optional<SourceLine> SourceLines::add(std::string_view trace) {
  std::optional<SourceLine> found = innermost_frame(trace);
  if (!found || !found->file.ends_with(".py")) return found;
  const std::vector<std::string>& lines = lines_of(found->file);
  if (found->line < 1 || found->line > std::ssize(lines) || found->text.empty() ||
      !is_line(lines[found->line - 1], found->text))
    return found;
  const int first = std::max(1, found->line - lines_around);
  const int last = std::min<int>(static_cast<int>(lines.size()), found->line + lines_around);
  for (int line = first; line <= last; ++line) shown_[found->file][line] = lines[line - 1];
  return found;
}

const std::vector<std::string>& SourceLines::lines_of(const std::string& file) {
  const auto [entry, added] = files_.try_emplace(file);
  std::error_code failure;
  if (added && std::filesystem::is_regular_file(file, failure) &&
      std::filesystem::file_size(file, failure) <= most_bytes)
    entry->second = read_lines(file);
  return entry->second;
}

}  // namespace vernier
