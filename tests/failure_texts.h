#pragma once

#include <span>
#include <string>
#include <vector>

#include "vernier/report/verdict.h"

namespace vernier {

// What a report says of failures, one text each.
inline std::vector<std::string> failure_texts(std::span<const Failure> failures) {
  std::vector<std::string> texts;
  for (const Failure& failure : failures) texts.push_back(failure_text(failure));
  return texts;
}
inline std::vector<std::string> failure_texts(const Verdict& verdict) {
  return failure_texts(verdict.failures);
}

}  // namespace vernier
