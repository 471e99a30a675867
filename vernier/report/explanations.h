#pragma once

#include <span>
#include <string_view>

namespace vernier {

// The texts about one kind of finding: for reports, `vernier check --explain`, SARIF rules and
// docs/checks.md.
struct Explanation {
  std::string_view id;
  std::string_view title;
  std::string_view what;
  std::string_view why;
  std::string_view remedy;
};

// One for each of finding_kinds(), in their order.
std::span<const Explanation> explanations();

// Throws Error, suggesting similarly spelled ids, if the id does not exist.
const Explanation& explanation(std::string_view id);

}  // namespace vernier
