#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace vernier {

// A tokenized text, cut into disjoint blocks. Each block is scored without the text before it.
struct TokenBlocks {
  std::vector<std::vector<std::int64_t>> blocks;
  std::int64_t length = 0;    // of a full block
  std::int64_t left_out = 0;  // tokens of last blocks that are too short to be scored
};

// Cuts the tokens into blocks of `length`, in order. A last block of fewer than 2 is left out.
TokenBlocks cut_blocks(const std::vector<std::int64_t>& tokens, std::int64_t length);

// Reads the rows of the array `name`, or of the only array, of an .npz or .npy file; with a length,
// each row is cut into blocks. Throws Error if there is no such array of two axes and integers.
TokenBlocks read_blocks(const std::filesystem::path& path, const std::string& name,
                        std::optional<std::int64_t> length);

}  // namespace vernier
