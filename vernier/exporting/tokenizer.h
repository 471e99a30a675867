#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace vernier {

// A text, a pair of texts, or a list of words.
struct TextToEncode {
  std::string text, pair;               // an empty `pair` means none
  std::vector<std::string> words = {};  // used instead of `text` if not empty
};

// A tokenised text; each list has one element per token: its id and kind (token type id), whether
// the tokenizer added it, the index of its text in the pair and of its word (-1 if none), and its
// byte range in the text.
struct EncodedText {
  std::vector<std::int64_t> ids, kinds;
  std::vector<bool> added;
  std::vector<std::int64_t> text, word;
  std::vector<std::int64_t> begin, end;
};

// Tokenised texts, and the id of the mask token; nullopt if the tokenizer has none.
struct EncodedTexts {
  std::vector<EncodedText> texts;
  std::optional<std::int64_t> mask;
};

// A tokenizer.json, applied by the Python package `tokenizers`. Each call starts a Python process.
class Tokenizer {
 public:
  // `path` is a tokenizer.json or a folder that contains one; `python` is the interpreter, if empty
  // see find_python_with(). Throws Error if the file does not exist or no interpreter has the
  // package.
  explicit Tokenizer(const std::filesystem::path& path, const std::string& python = "");

  const std::filesystem::path& path() const { return path_; }

  // The token ids of a UTF-8 text file, with the special tokens that the tokenizer adds.
  std::vector<std::int64_t> encode(const std::filesystem::path& text) const;

  // Encodes texts with the special tokens that the tokenizer adds, truncated to `most` tokens each;
  // in a pair the second text is truncated.
  EncodedTexts encode(std::span<const TextToEncode> texts, std::int64_t most) const;

  // Decodes each list of ids to text.
  std::vector<std::string> decode(std::span<const std::vector<std::int64_t>> lists) const;

 private:
  std::string run(std::vector<std::string> arguments, const std::string& subject) const;

  std::filesystem::path path_;
  std::string python_;
};

}  // namespace vernier
