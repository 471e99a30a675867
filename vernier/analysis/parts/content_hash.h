#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace vernier {

class Model;

// A 128-bit hash of contents. It is not cryptographic: equal hashes can be made on purpose.
struct ContentHash {
  std::uint64_t first = 0, second = 0;
  std::string text() const;  // 32 hexadecimal digits
  bool operator==(const ContentHash&) const = default;
};

ContentHash content_hash(std::span<const std::byte> bytes);
ContentHash content_hash(std::string_view text);

// The hash of a model: of its file with its external data, or of every file in its folder. The name
// itself if it is not a file, such as an id. `loaded` is the model of that file, unchanged; null if
// it has to be loaded.
std::string model_hash(const std::filesystem::path& model, const Model* loaded = nullptr);

// The hash of data: of a file's contents, or of the names and sizes of the files in a folder, since
// reading a folder of images would take as long as measuring it.
std::string data_hash(const std::filesystem::path& data);

}  // namespace vernier
