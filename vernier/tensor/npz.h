#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/tensor/npy.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// The arrays of an .npz archive (stored or deflated, zip64 too), read one at a time. Members that
// do not end in ".npy" are not arrays and are passed over. A name may hold any path ("/a/b:0") but
// no ".." component and no control character. One thread at a time.
class NpzReader {
 public:
  explicit NpzReader(const std::filesystem::path& path);
  ~NpzReader();
  NpzReader(NpzReader&&) noexcept;

  const std::vector<std::string>& names() const;  // in archive order, without ".npy"
  bool has(const std::string& name) const;
  NpyHeader header(const std::string& name) const;
  Tensor read(const std::string& name) const;
  std::string comment() const;  // of the archive; empty: it has none

 private:
  friend class NpzArrayStream;
  struct State;
  std::shared_ptr<State> state_;
};

// One array of an archive, read along its leading axis in order, without holding all of it (unless
// it is in Fortran order). Several may be open at once, and may outlive the reader. The checksum is
// checked when the last row is read.
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

// Writes an uncompressed .npz (zip64 where needed) under a temporary name; finish() renames it into
// place, and a writer destroyed before that leaves nothing behind. Elements are stored as
// npy_dtype() says.
class NpzWriter {
 public:
  explicit NpzWriter(const std::filesystem::path& path);
  ~NpzWriter();
  NpzWriter(NpzWriter&&) noexcept;

  void add(const std::string& name, const TensorView& tensor);
  // Reserves room for `rows` slices stacked on a new leading axis; append() then fills them in
  // turn. Arrays may be filled interleaved: that is how samples stream to disk.
  void reserve(const std::string& name, DType dtype, const Shape& slice_shape, std::int64_t rows);
  void append(const std::string& name, const TensorView& slice);
  // Gives up an array that was reserved or added: it will not be in the file.
  void drop(const std::string& name);
  // Every reserved array ends after its first `rows` rows, which must be there: what an interrupted
  // run keeps. The room given up stays in the file as a hole that takes no disk space.
  void truncate(std::int64_t rows);
  // Moves arrays together, so that no room is left that truncate() or drop() gave up; nothing is
  // reserved, added or appended after this.
  void close_holes();
  // What is said of the archive as a whole; readers of arrays pass over it. At most 65,535 bytes.
  void set_comment(const std::string& comment);
  // Throws Error if a reserved array was not filled.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Throws Error if `name` cannot be the name of an array in an archive: empty, longer than zip
// allows, with a ".." component or a control character, or not UTF-8. A leading slash is allowed:
// tensors of ONNX models have names like "/layer1/conv1/Conv_output_0".
void check_npz_name(const std::filesystem::path& path, std::string_view name);

}  // namespace vernier
