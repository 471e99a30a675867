#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace vernier {

// A text, a pair of them, or a list of words.
struct TextToEncode {
  std::string text, pair;               // an empty pair: there is none
  std::vector<std::string> words = {};  // where there are some, instead of the text
};

// A text as tokens. Of each token: its id and kind, whether the tokenizer added it, which of the
// two texts (-1: none) and which word of it (-1: none) it is of, and where in the text it stands,
// in bytes.
struct EncodedText {
  std::vector<std::int64_t> ids, kinds;
  std::vector<bool> added;
  std::vector<std::int64_t> text, word;
  std::vector<std::int64_t> begin, end;
};

// Texts as tokens, and the id of the token that stands for a masked one, if there is one.
struct EncodedTexts {
  std::vector<EncodedText> texts;
  std::optional<std::int64_t> mask;
};

// A tokenizer.json, used by the Python package `tokenizers`: each call starts an interpreter that
// has it.
class Tokenizer {
 public:
  // The file, or a folder that has it. Throws Error if there is none, and if no interpreter has the
  // package; `python` chooses one.
  explicit Tokenizer(const std::filesystem::path& path, const std::string& python = "");

  const std::filesystem::path& path() const { return path_; }

  // The ids of a UTF-8 text file, with the special tokens that the tokenizer adds.
  std::vector<std::int64_t> encode(const std::filesystem::path& text) const;

  // Texts with the tokens that the tokenizer adds, each of `most` tokens at most: of a pair the
  // second is cut.
  EncodedTexts encode(std::span<const TextToEncode> texts, std::int64_t most) const;

  // The text of each list of ids.
  std::vector<std::string> decode(std::span<const std::vector<std::int64_t>> lists) const;

 private:
  std::string run(std::vector<std::string> arguments, const std::string& subject) const;

  std::filesystem::path path_;
  std::string python_;
};

}  // namespace vernier
