#include "vernier/metrics/answers.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>
#include <vector>

namespace vernier {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// F1 of the words that both answers share, counted with multiplicity.
double shared_words_f1(const std::string& answer, const std::string& right) {
  const std::vector<std::string> found = words_of(answer), wanted = words_of(right);
  if (found.empty() || wanted.empty()) return found.empty() == wanted.empty() ? 1 : 0;
  std::map<std::string, int> left;
  for (const std::string& word : wanted) ++left[word];
  double same = 0;
  for (const std::string& word : found) same += left[word]-- > 0;
  if (same == 0) return 0;
  const double precision = same / static_cast<double>(found.size());
  const double recall = same / static_cast<double>(wanted.size());
  return 2 * precision * recall / (precision + recall);
}

}  // namespace

std::string normalised_answer(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    const auto sign = static_cast<unsigned char>(c);
    if (sign < 128 && std::ispunct(sign)) continue;
    plain += sign < 128 ? static_cast<char>(std::tolower(sign)) : c;
  }
  std::string result;
  for (const std::string& word : words_of(plain))
    if (word != "a" && word != "an" && word != "the") result += (result.empty() ? "" : " ") + word;
  return result;
}

AnswerScore score_answer(std::string_view answer, std::span<const std::string> right) {
  const std::string found = normalised_answer(answer);
  if (right.empty()) return {found.empty() ? 1.0 : 0.0, found.empty() ? 1.0 : 0.0};
  AnswerScore best;
  for (const std::string& each : right) {
    const std::string wanted = normalised_answer(each);
    best.exact_match = std::max(best.exact_match, found == wanted ? 1.0 : 0.0);
    best.f1 = std::max(best.f1, shared_words_f1(found, wanted));
  }
  return best;
}

}  // namespace vernier
