#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/tensor/npy.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// The arrays of an .npz archive (stored or deflated, also zip64), read one at a time. Members whose
// name does not end in ".npy" are ignored. A name may be any path ("/a/b:0") without a ".."
// component or control characters. Not thread-safe.
class NpzReader {
 public:
  explicit NpzReader(const std::filesystem::path& path);
  ~NpzReader();
  NpzReader(NpzReader&&) noexcept;

  const std::vector<std::string>& names() const;  // in archive order, without ".npy"
  bool has(const std::string& name) const;
  NpyHeader header(const std::string& name) const;
  Tensor read(const std::string& name) const;
  std::string comment() const;  // of the archive; empty if it has none

 private:
  friend class NpzArrayStream;
  struct State;
  std::shared_ptr<State> state_;
};

// Reads one array of an archive in order along its leading axis, without holding all of it in
// memory (unless it is in Fortran order). Several streams may be open at once, and may outlive the
// reader. The checksum is verified when the last row is read.
class NpzArrayStream {
 public:
  NpzArrayStream(const NpzReader& reader, const std::string& name);
  ~NpzArrayStream();
  NpzArrayStream(NpzArrayStream&&) noexcept;

  const NpyHeader& header() const;
  std::int64_t rows_left() const;
  Tensor next(std::int64_t rows);  // the next rows; throws Error past the end

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Writes an uncompressed .npz (zip64 if needed) under a temporary name; finish() renames it into
// place; a writer destroyed before that leaves nothing behind. Elements are stored in npy_dtype().
class NpzWriter {
 public:
  explicit NpzWriter(const std::filesystem::path& path);
  ~NpzWriter();
  NpzWriter(NpzWriter&&) noexcept;

  void add(const std::string& name, const TensorView& tensor);
  // Reserves space for `rows` slices stacked along a new leading axis; append() then fills them in
  // order. Appends to several arrays may be interleaved, to write samples as they come.
  void reserve(const std::string& name, DType dtype, const Shape& slice_shape, std::int64_t rows);
  void append(const std::string& name, const TensorView& slice);
  // Removes an array that was reserved or added.
  void drop(const std::string& name);
  // Shortens every reserved array to its first `rows` rows, for a run that was interrupted. Throws
  // Error if fewer were written. The freed space remains in the file as a hole without disk blocks.
  void truncate(std::int64_t rows);
  // Moves arrays together, to remove the space freed by truncate() or drop(). Nothing may be
  // reserved, added or appended afterwards.
  void close_holes();
  // Sets the archive's comment, which readers of arrays ignore. At most 65,535 bytes.
  void set_comment(const std::string& comment);
  // Throws Error if a reserved array was not filled.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Throws Error if `name` is not allowed in an archive: empty, too long for zip, with a ".."
// component or a control character, or not UTF-8. A leading slash is allowed: tensors of ONNX
// models have names like "/layer1/conv1/Conv_output_0".
void check_npz_name(const std::filesystem::path& path, std::string_view name);

}  // namespace vernier
