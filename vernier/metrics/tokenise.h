#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace vernier {

// How a sentence is split into tokens for BLEU; the tokens equal those of sacreBLEU's tokenizers.
enum class Tokenisation {
  none,           // split at white space
  mteval_13a,     // also around ASCII punctuation and symbols, with exceptions for . , - and '
  international,  // also around all Unicode punctuation and symbols
  chinese,        // each Chinese character is a token; the rest as in mteval_13a
  character,      // each character is a token
};

// sacreBLEU's names: "none", "13a", "intl", "zh", "char".
std::optional<Tokenisation> parse_tokenisation(std::string_view name);
std::span<const std::string_view> tokenisation_names();

struct TokeniseOptions {
  Tokenisation tokenisation = Tokenisation::mteval_13a;
  bool lowercase = false;  // Unicode's one-to-one mapping
};

// The tokens of a UTF-8 sentence. Throws Error if it is not UTF-8.
std::vector<std::string> tokenise(std::string_view sentence, const TokeniseOptions& options = {});

// Whether the character is in Unicode's general category P, S or N.
bool is_punctuation(char32_t code);
bool is_symbol(char32_t code);
bool is_number(char32_t code);

}  // namespace vernier
