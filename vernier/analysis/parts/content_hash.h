#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace vernier {

// 128 bits that tell contents apart; no defence against somebody who wants two to look alike.
struct ContentHash {
  std::uint64_t first = 0, second = 0;
  std::string text() const;  // 32 hexadecimal digits
  bool operator==(const ContentHash&) const = default;
};

ContentHash content_hash(std::span<const std::byte> bytes);
ContentHash content_hash(std::string_view text);

// Of a model: its file with its external data, or every file of its folder. Of what is no file, as
// an id, the name.
std::string model_hash(const std::filesystem::path& model);

// Of a file its contents, of a folder the names and sizes of what is in it: a folder of images
// would take as long to read as to measure.
std::string data_hash(const std::filesystem::path& data);

}  // namespace vernier
