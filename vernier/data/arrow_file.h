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
  bool wide = false;                 // bytes, text and lists have 64-bit offsets
  std::int64_t list_size = 0;        // length of fixed-size lists; 0 for other lists
  int buffers = 0;                   // number of buffers in a batch, without the children's
  std::vector<ArrowField> children;  // of lists and structures
};

// The values of a field in one batch of rows. Valid as long as the file is.
struct ArrowArray {
  const ArrowField* field = nullptr;
  std::int64_t length = 0;
  std::span<const std::byte> validity;  // one bit per value; empty if no value is null
  std::span<const std::byte> offsets;
  std::span<const std::byte> data;
  std::vector<ArrowArray> children;

  bool has(std::int64_t row) const;
  // The bytes of a number, bytes or text value; nullopt if it is null.
  std::optional<std::span<const std::byte>> bytes(std::int64_t row) const;
  // The value of an integer; nullopt if it is null.
  std::optional<std::int64_t> integer(std::int64_t row) const;
  // The begin and end of a list's elements in children[0].
  std::pair<std::int64_t, std::int64_t> range(std::int64_t row) const;
  // The member of a structure with that name; null if there is none.
  const ArrowArray* child(std::string_view name) const;
};

// A memory-mapped file of record batches in Arrow's stream or file format, as Hugging Face's
// datasets write it. Every offset is checked before use. Throws Error if the file is damaged,
// compressed, or has a column of an unsupported type.
class ArrowFile {
 public:
  explicit ArrowFile(const std::filesystem::path& path);

  const std::vector<ArrowField>& fields() const { return fields_; }
  const std::map<std::string, std::string>& metadata() const { return metadata_; }
  std::int64_t rows() const { return rows_; }
  // The batch that holds a row, and the row's index in it. Columns are in the order of fields().
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
