#pragma once

#include <span>
#include <string>
#include <string_view>

namespace vernier {

// SQuAD's comparison of answers: in lower case (of ASCII), without punctuation and articles, single
// blanks between words.
std::string normalised_answer(std::string_view text);

struct AnswerScore {
  double exact_match = 0, f1 = 0;  // 0 to 1
};
// The best over the answers that count as right; none: right is an empty answer.
AnswerScore score_answer(std::string_view answer, std::span<const std::string> right);

}  // namespace vernier
