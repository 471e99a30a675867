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

// A serialized model whose large weights have become external data: the same model, with each
// raw_data of at least `threshold` bytes of the main graph replaced by a reference to where these
// bytes are in `file`, which is called `location`. So a model can be edited without a copy of its
// weights. Nothing if the bytes are not a protobuf message.
std::optional<std::string> skeleton(std::span<const std::byte> file, const std::string& location,
                                    std::size_t threshold = 4096);

// Bytes in several pieces, to be written one after the other. Pieces that are not in `owned` belong
// to someone else.
struct Rope {
  struct Piece {
    std::span<const std::byte> bytes;
    bool mapped = false;  // part of a MappedFile
  };
  std::vector<Piece> pieces;
  std::vector<std::unique_ptr<const std::string>> owned;
  std::shared_ptr<const MappedFile> file = nullptr;  // of the mapped pieces, if it is known

  std::uint64_t size() const;
  void append(std::span<const std::byte> bytes, bool mapped = false);
  void append(std::string bytes);
  void append(Rope rope);
};

std::string flatten(const Rope& rope);

// The reverse of skeleton(): the serialized model with the weights that `location` holds back in
// it. The pieces point into both arguments. Throws Error when a weight is not where the model says.
Rope with_weights(std::span<const std::byte> skeleton, const std::string& location,
                  std::span<const std::byte> file);

}  // namespace vernier
