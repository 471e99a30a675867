#include "vernier/tensor/name_pattern.h"

#include <fnmatch.h>

#include <algorithm>

namespace vernier {

bool matches_name(const std::string& pattern, const std::string& name) {
  return pattern == name || fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

bool matches_any_name(const std::vector<std::string>& patterns, const std::string& name) {
  return std::ranges::any_of(patterns, [&](const auto& p) { return matches_name(p, name); });
}

}  // namespace vernier
