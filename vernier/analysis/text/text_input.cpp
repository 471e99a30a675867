#include "vernier/analysis/text/text_input.h"

#include <fmt/format.h>

#include "vernier/analysis/text/token_blocks.h"
#include "vernier/error.h"

namespace vernier {

namespace fs = std::filesystem;

fs::path find_tokenizer(const std::string& given, std::span<const fs::path> models) {
  if (!given.empty()) return given;
  for (const fs::path& model : models)
    if (const fs::path beside = model.parent_path() / "tokenizer.json"; fs::is_regular_file(beside))
      return beside;
  return {};
}

Tokenizer require_tokenizer(const std::string& given, const fs::path& model,
                            const std::string& python) {
  const fs::path found = find_tokenizer(given, {&model, 1});
  if (found.empty())
    throw Error("[text] --text: its tokens are needed; pass --tokenizer tokenizer.json");
  return Tokenizer(found, python);
}

void read_text_input(const TextInput& text, const fs::path& model, const std::string& python,
                     InputSpec& spec) {
  if (text.file.empty()) return;
  const Tokenizer tokenizer = require_tokenizer(text.tokenizer, model, python);
  spec.tokens = cut_blocks(tokenizer.encode(text.file), text.block_length).blocks;
  if (spec.tokens.empty()) throw Error(fmt::format("[text] {}: holds no tokens", text.file));
  spec.text = fs::path(text.file).filename().string();
}

}  // namespace vernier
