#include "vernier/data/split.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "vernier/error.h"

namespace vernier {
namespace {

const std::map<std::string_view, std::string_view> usual_names = {
    {"train", "train"},           {"training", "train"},   {"test", "test"},
    {"testing", "test"},          {"eval", "test"},        {"evaluation", "test"},
    {"validation", "validation"}, {"valid", "validation"}, {"val", "validation"},
    {"dev", "validation"}};

// The words of a path, last first: words near the file name are the most specific.
std::vector<std::string> words_of(const std::filesystem::path& path) {
  std::vector<std::string> words(1);
  for (const char c : path.generic_string()) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || byte >= 128)
      words.back() += static_cast<char>(std::tolower(byte));
    else if (!words.back().empty())
      words.emplace_back();
  }
  std::ranges::reverse(words);
  return words;
}

bool names_split(const std::filesystem::path& path, const std::string& split) {
  return std::ranges::any_of(words_of(path),
                             [&](const std::string& word) { return split_name(word) == split; });
}

}  // namespace

std::string split_name(std::string_view word) {
  const auto found = usual_names.find(word);
  return std::string(found == usual_names.end() ? word : found->second);
}

std::string split_of(const std::filesystem::path& path) {
  for (const std::string& word : words_of(path))
    if (usual_names.contains(word)) return split_name(word);
  return "";
}

std::vector<std::filesystem::path> files_of_split(const std::vector<std::filesystem::path>& paths,
                                                  const std::string& split,
                                                  const std::string& subject) {
  std::set<std::string> splits;
  for (const auto& path : paths)
    if (const std::string found = split_of(path); !found.empty()) splits.insert(found);
  if (split.empty()) {
    if (splits.size() <= 1) return paths;
    throw Error(fmt::format("[dataset] {}: has the splits {}; choose one with --split", subject,
                            fmt::join(splits, ", ")));
  }
  std::vector<std::filesystem::path> chosen;
  std::ranges::copy_if(paths, std::back_inserter(chosen),
                       [&](const auto& path) { return names_split(path, split_name(split)); });
  if (!chosen.empty()) return chosen;
  throw Error(fmt::format("[dataset] {}: has no split '{}'; there {}", subject, split,
                          splits.empty() ? "are none: leave --split out"
                                         : fmt::format("is {}", fmt::join(splits, ", "))));
}

}  // namespace vernier
