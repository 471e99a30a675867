#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// Arrays kept sample by sample: an .npz or .npy whose leading axes are rows, or a folder of .npz
// files, which is read as if it were one .npz with a row for each file, in natural order (2 before
// 10). An .npy file holds one array, named after the file.
class SampleArchive {
 public:
  // Throws Error if there is nothing of the kind at the path.
  explicit SampleArchive(const std::filesystem::path& path);
  ~SampleArchive();
  SampleArchive(SampleArchive&&) noexcept;

  const std::string& subject() const;             // names the archive in messages
  const std::vector<std::string>& names() const;  // of a folder: those of its first file
  bool has(const std::string& name) const;
  std::int64_t rows(const std::string& name) const;
  bool is_folder() const;  // then rows need not be alike

  struct Row {
    std::string subject;  // names the file in messages
    DType dtype = DType::f32;
    Shape shape;
  };
  // What a row is, before it is read.
  Row row(const std::string& name, std::int64_t index) const;

  // Rows [first, first + count), stacked. Ascending order is the fast one. Throws Error past the
  // end, and for rows of different dtype or shape.
  Tensor read(const std::string& name, std::int64_t first, std::int64_t count);

  class Source;

 private:
  std::unique_ptr<Source> source_;
};

// Without its leading dimension, which must be 1: a row on its own.
Tensor unstack(Tensor stacked);

// "a2" before "a10": runs of digits compare as numbers.
bool natural_less(std::string_view left, std::string_view right);

}  // namespace vernier
