#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace vernier {

class MappedFile;

// The serialized model in `file` with its large weights turned into external data: each raw_data of
// at least `threshold` bytes in the main graph is replaced by a reference to these bytes in `file`,
// under the name `location`. So a model can be edited without copying its weights. nullopt if the
// bytes are not a protobuf message.
std::optional<std::string> skeleton(std::span<const std::byte> file, const std::string& location,
                                    std::size_t threshold = 4096);

// Bytes in several pieces, to be written one after the other. Pieces outside `owned` must outlive
// the rope.
struct Rope {
  struct Piece {
    std::span<const std::byte> bytes;
    bool mapped = false;  // part of a MappedFile
  };
  std::vector<Piece> pieces;
  std::vector<std::unique_ptr<const std::string>> owned;
  std::shared_ptr<const MappedFile> file = nullptr;  // holds the mapped pieces; null if unknown

  std::uint64_t size() const;
  void append(std::span<const std::byte> bytes, bool mapped = false);
  void append(std::string bytes);
  void append(Rope rope);
};

std::string flatten(const Rope& rope);

// The reverse of skeleton(): the serialized model with the weights of `location` inline again. The
// pieces point into `skeleton` and `file`. Throws Error if a reference does not fit the file.
Rope with_weights(std::span<const std::byte> skeleton, const std::string& location,
                  std::span<const std::byte> file);

}  // namespace vernier
