#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace vernier {

// A text as tokens, cut into disjoint blocks: a model sees nothing before the block that it scores.
struct TokenBlocks {
  std::vector<std::vector<std::int64_t>> blocks;
  std::int64_t length = 0;    // of each but the last
  std::int64_t left_out = 0;  // tokens of a last block that is too short to score any
};

// Blocks of so many tokens, in order. A last one of fewer than 2 is left out.
TokenBlocks cut_blocks(const std::vector<std::int64_t>& tokens, std::int64_t length);

// The rows of the array of an .npz (or .npy) that has one, or the one of this name; with a length,
// each is cut into blocks. Throws Error where there is no such array of two axes and integers.
TokenBlocks read_blocks(const std::filesystem::path& path, const std::string& name,
                        std::optional<std::int64_t> length);

}  // namespace vernier
