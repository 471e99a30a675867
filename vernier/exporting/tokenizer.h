#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace vernier {

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

  // The text of each list of ids.
  std::vector<std::string> decode(std::span<const std::vector<std::int64_t>> lists) const;

 private:
  std::string run(std::vector<std::string> arguments, const std::string& subject) const;

  std::filesystem::path path_;
  std::string python_;
};

}  // namespace vernier
