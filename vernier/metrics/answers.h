#pragma once

#include <span>
#include <string>
#include <string_view>

namespace vernier {

// An answer as SQuAD compares it: ASCII letters in lower case, without punctuation and articles,
// words separated by single spaces.
std::string normalised_answer(std::string_view text);

struct AnswerScore {
  double exact_match = 0, f1 = 0;  // 0 to 1
};
// The best score over the accepted answers `right`; if there are none, the empty answer is right.
AnswerScore score_answer(std::string_view answer, std::span<const std::string> right);

}  // namespace vernier
