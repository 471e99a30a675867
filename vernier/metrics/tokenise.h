#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vernier {

// How a sentence is cut into tokens for BLEU; each gives sacreBLEU's tokens of the same name.
enum class Tokenisation {
  none,           // at white space
  mteval_13a,     // also around punctuation and symbols of ASCII, less so next to digits
  international,  // also around all of Unicode's punctuation and symbols
  chinese,        // every Chinese character by itself, the rest as mteval_13a
  character,      // every character by itself
};

// By sacreBLEU's names: "none", "13a", "intl", "zh", "char".
std::optional<Tokenisation> parse_tokenisation(std::string_view name);
std::string_view tokenisation_name(Tokenisation tokenisation);
std::span<const std::string_view> tokenisation_names();

struct TokeniseOptions {
  Tokenisation tokenisation = Tokenisation::mteval_13a;
  bool lowercase = false;  // Unicode's one-to-one mapping
};

// The tokens of a UTF-8 sentence. Throws Error if it is not UTF-8.
std::vector<std::string> tokenise(std::string_view sentence, const TokeniseOptions& options = {});

// Unicode's general categories P, S and N, all of their kinds.
bool is_punctuation(char32_t code);
bool is_symbol(char32_t code);
bool is_number(char32_t code);

}  // namespace vernier
