#include "vernier/close_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <numeric>
#include <utility>

namespace vernier {
namespace {

bool same_letter(char left, char right) {
  return std::tolower(static_cast<unsigned char>(left)) ==
         std::tolower(static_cast<unsigned char>(right));
}

// Case-insensitive edit distance with transpositions (optimal string alignment).
int edit_distance(std::string_view from, std::string_view to) {
  std::vector<int> before, last, row(to.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) {
    before = std::exchange(last, row);
    row[0] = static_cast<int>(i) + 1;
    for (std::size_t j = 0; j < to.size(); ++j) {
      const int replaced = last[j] + (same_letter(from[i], to[j]) ? 0 : 1);
      row[j + 1] = std::min({replaced, row[j] + 1, last[j + 1] + 1});
      const bool swapped =
          i > 0 && j > 0 && same_letter(from[i], to[j - 1]) && same_letter(from[i - 1], to[j]);
      if (swapped) row[j + 1] = std::min(row[j + 1], before[j - 1] + 1);
    }
  }
  return row.back();
}

// 1 if `name` is a substring of `other`, else their edit distance.
int distance(std::string_view name, std::string_view other) {
  if (!name.empty() && other.find(name) != std::string_view::npos) return 1;
  return edit_distance(name, other);
}

}  // namespace

std::vector<std::string> close_names(std::string_view name, std::span<const std::string> names) {
  const int most = std::max(1, static_cast<int>(name.size()) / 3);
  std::vector<std::pair<int, std::string>> found;
  for (const std::string& other : names)
    if (const int letters = distance(name, other); letters <= most)
      found.emplace_back(letters, other);
  std::ranges::stable_sort(found, {}, &std::pair<int, std::string>::first);
  found.resize(std::min<std::size_t>(found.size(), 3));
  std::vector<std::string> close;
  for (auto& [letters, other] : found) close.push_back(std::move(other));
  return close;
}

Error unknown_name(std::string_view operation, std::string_view noun, std::string_view name,
                   std::span<const std::string> names) {
  const std::vector<std::string> close = close_names(name, names);
  if (close.empty())
    return Error(fmt::format("[{}] {} '{}': there is none of that name; there are {}", operation,
                             noun, name, fmt::join(names, ", ")));
  return Error(fmt::format("[{}] {} '{}': there is none of that name; did you mean {}?", operation,
                           noun, name, fmt::join(close, ", ")));
}

}  // namespace vernier
