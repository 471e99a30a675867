#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "vernier/analysis/inputs/inputs.h"
#include "vernier/exporting/tokenizer.h"

namespace vernier {

// A text as the input of a decoder.
struct TextInput {
  std::string file;       // UTF-8; empty if there is none
  std::string tokenizer;  // tokenizer.json or the folder that has it; if empty: beside the model
  std::int64_t block_length = 128;
};

// The tokenizer that was given, else the tokenizer.json beside the first of the models that has
// one; empty if there is none.
std::filesystem::path find_tokenizer(const std::string& given,
                                     std::span<const std::filesystem::path> models);

// The tokenizer of a text, as find_tokenizer() finds it. `python` is as for Tokenizer. Throws Error
// if there is none.
Tokenizer require_tokenizer(const std::string& given, const std::filesystem::path& model,
                            const std::string& python);

// Tokenises the text, if there is one, into `spec`. Throws Error if there is no tokenizer, or if
// the text holds no tokens.
void read_text_input(const TextInput& text, const std::filesystem::path& model,
                     const std::string& python, InputSpec& spec);

}  // namespace vernier
