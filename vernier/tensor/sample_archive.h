#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// Arrays stored sample by sample: an .npz or .npy whose leading axis is the row, or a folder of
// .npz files, which is read like one .npz with a row per file, in natural order (2 before 10). An
// .npy holds one array, named after the file. NamedArrays are opened by their path.
class SampleArchive {
 public:
  // Throws Error if the path is not one of these.
  explicit SampleArchive(const std::filesystem::path& path);
  ~SampleArchive();
  SampleArchive(SampleArchive&&) noexcept;

  const std::string& subject() const;             // names the archive in messages
  const std::vector<std::string>& names() const;  // in a folder, the names in its first file
  bool has(const std::string& name) const;
  std::int64_t rows(const std::string& name) const;
  bool is_folder() const;  // if true, rows may differ in dtype and shape

  struct Row {
    std::string subject;  // names the file in messages
    DType dtype = DType::f32;
    Shape shape;
  };
  // The dtype and shape of a row, without reading its elements.
  Row row(const std::string& name, std::int64_t index) const;

  // Rows [first, first + count), stacked. Ascending access is fastest. Throws Error past the end,
  // and for rows of different dtype or shape.
  Tensor read(const std::string& name, std::int64_t first, std::int64_t count);

  class Source;

 private:
  std::unique_ptr<Source> source_;
};

// "a2" before "a10": runs of digits compare as numbers.
bool natural_less(std::string_view left, std::string_view right);

}  // namespace vernier
