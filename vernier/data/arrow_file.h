#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vernier/tensor/dtype.h"
#include "vernier/tensor/mapped_file.h"

namespace vernier {

// A column, or a part of one, as an Arrow schema declares it.
struct ArrowField {
  enum class Kind { number, bytes, text, list, structure, other };
  std::string name;
  Kind kind = Kind::other;
  DType dtype = DType::i64;          // of numbers
  bool wide = false;                 // 64-bit offsets, of bytes, text and lists
  std::int64_t list_size = 0;        // of lists that are all of one length; 0: each has its own
  int buffers = 0;                   // that a batch has of it, without its children
  std::vector<ArrowField> children;  // of lists and structures
};

// The values of a field in one batch of rows. Valid as long as the file is.
struct ArrowArray {
  const ArrowField* field = nullptr;
  std::int64_t length = 0;
  std::span<const std::byte> validity;  // a bit for each value; empty: all are there
  std::span<const std::byte> offsets;
  std::span<const std::byte> data;
  std::vector<ArrowArray> children;

  bool has(std::int64_t row) const;
  // Of numbers, bytes and text; nothing for null.
  std::optional<std::span<const std::byte>> bytes(std::int64_t row) const;
  // Of integers; nothing for null.
  std::optional<std::int64_t> integer(std::int64_t row) const;
  // Where the elements of a list begin and end in its only child.
  std::pair<std::int64_t, std::int64_t> range(std::int64_t row) const;
  // The part of a structure of that name; null if it has none.
  const ArrowArray* child(std::string_view name) const;
};

// A file of record batches in Arrow's format, stream or file, as Hugging Face's datasets write it:
// mapped, not read. Every offset is checked before it is followed; throws Error for what is
// damaged, compressed, or of a type that it does not know.
class ArrowFile {
 public:
  explicit ArrowFile(const std::filesystem::path& path);

  const std::vector<ArrowField>& fields() const { return fields_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  std::int64_t rows() const { return rows_; }
  // The batch that holds a row, and where in it; columns are in the order of fields().
  struct Place {
    std::span<const ArrowArray> columns;
    std::int64_t row = 0;
  };
  Place find(std::int64_t row) const;

 private:
  struct Batch {
    std::int64_t first = 0;
    std::vector<ArrowArray> columns;
  };

  MappedFile file_;
  std::vector<ArrowField> fields_;  // arrays point into it
  std::map<std::string, std::string> metadata_;
  std::vector<Batch> batches_;
  std::int64_t rows_ = 0;
};

}  // namespace vernier
