#pragma once

#include <string>
#include <vector>

namespace vernier {

// Whether the name is the pattern itself, or matches it as a glob with *, ? and [...].
bool matches_name(const std::string& pattern, const std::string& name);
bool matches_any_name(const std::vector<std::string>& patterns, const std::string& name);

}  // namespace vernier
