#include "vernier/report/source_lines.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "vernier/data/read_file.h"

namespace vernier {
namespace {

constexpr int lines_around = 6;
constexpr std::uintmax_t most_bytes = std::uintmax_t{4} << 20;

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1));
}

}  // namespace

std::optional<SourceLine> innermost_frame(std::string_view trace) {
  constexpr std::string_view file_mark = "File \"", line_mark = "\", line ";
  const std::size_t begin = trace.rfind(file_mark);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::string_view frame = trace.substr(begin + file_mark.size());
  const std::size_t end = frame.find(line_mark);
  if (end == std::string_view::npos) return std::nullopt;
  SourceLine found{.file = std::string(frame.substr(0, end))};
  const std::string_view rest = frame.substr(end + line_mark.size());
  if (std::from_chars(rest.data(), rest.data() + rest.size(), found.line).ec != std::errc())
    return std::nullopt;
  if (const std::size_t text = rest.find('\n'); text != std::string_view::npos)
    found.text = trimmed(rest.substr(text + 1, rest.find('\n', text + 1) - text - 1));
  return found;
}

// A model may name any file: only lines of Python get into a report that is passed on, and only
// where the one that the exporter saw is still there.
std::optional<SourceLine> SourceLines::add(std::string_view trace) {
  std::optional<SourceLine> found = innermost_frame(trace);
  if (!found || !found->file.ends_with(".py")) return found;
  const std::vector<std::string>& lines = lines_of(found->file);
  if (found->line < 1 || found->line > std::ssize(lines) || found->text.empty() ||
      trimmed(lines[found->line - 1]) != found->text)
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
