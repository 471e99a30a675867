#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "vernier/error.h"
#include "vernier/tensor/atomic_file.h"
#include "vernier/tensor/npz.h"
#include "vernier/tensor/zip_records.h"

namespace vernier {
namespace {

std::uint32_t crc_of(std::span<const std::byte> bytes, std::uint32_t crc = 0) {
  return static_cast<std::uint32_t>(
      crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

constexpr std::int64_t most_moved = 1 << 20;  // bytes moved at once

// An array in the file: local header, .npy header, `rows` rows. The headers are written last, when
// the checksum is known.
struct Array {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;      // of the whole array
  Shape row_shape;  // shape of the slices for append()
  std::int64_t rows = 0;
  std::int64_t rows_written = 0;
  std::uint32_t data_crc = 0;
  std::int64_t offset = 0;
  std::int64_t local_header_size = 0;
  std::int64_t npy_header_size = 0;
  std::int64_t row_bytes = 0;

  std::int64_t data_offset() const { return offset + local_header_size + npy_header_size; }
  std::int64_t end() const { return data_offset() + rows * row_bytes; }
};

}  // namespace

struct NpzWriter::State {
  explicit State(const std::filesystem::path& target) : path(target), file(target) {}

  [[noreturn]] void fail(std::string_view name, std::string_view problem) const {
    throw Error(fmt::format("[npz] {}: '{}': {}", path.string(), name, problem));
  }

  Array& place(Array array) {
    check_npz_name(path, array.name);
    array.offset = end;
    array.local_header_size = std::ssize(zip_local_header({.name = array.name + ".npy"}));
    array.npy_header_size = std::ssize(npy_header(array.dtype, array.shape));
    array.row_bytes = byte_size(npy_dtype(array.dtype), element_count(array.row_shape));
    if (array.rows * array.row_bytes >
        std::numeric_limits<std::int64_t>::max() - array.data_offset())
      fail(array.name, "expected an archive of less than 2^63 bytes, found more");
    if (!positions.emplace(array.name, arrays.size()).second)
      fail(array.name, "expected each name once, found it again");
    end = array.end();
    return arrays.emplace_back(std::move(array));
  }

  void write_row(Array& array, const TensorView& row) {
    const NpyElements stored(row);
    file.write_at(array.data_offset() + array.rows_written * array.row_bytes, stored.bytes());
    array.data_crc = crc_of(stored.bytes(), array.data_crc);
    ++array.rows_written;
  }

  // The checksum of the first `rows` rows, read back from the file.
  std::uint32_t crc_of_rows(const Array& array, std::int64_t rows) const {
    std::vector<std::byte> row(static_cast<std::size_t>(array.row_bytes));
    std::uint32_t crc = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
      file.read_at(array.data_offset() + i * array.row_bytes, row);
      crc = crc_of(row, crc);
    }
    return crc;
  }

  ZipEntry write_headers(const Array& array) {
    const std::string header = npy_header(array.dtype, array.shape, array.npy_header_size);
    const std::int64_t data_bytes = array.rows * array.row_bytes;
    const std::uint32_t header_crc = crc_of(std::as_bytes(std::span(header)));
    ZipEntry entry = {
        .name = array.name + ".npy",
        .crc = static_cast<std::uint32_t>(crc32_combine(header_crc, array.data_crc, data_bytes)),
        .size = static_cast<std::uint64_t>(array.npy_header_size + data_bytes),
        .offset = static_cast<std::uint64_t>(array.offset)};
    file.write_at(array.offset, zip_local_header(entry) + header);
    return entry;
  }

  // Moves each array to the end of the previous one.
  void close_holes() {
    std::int64_t place = 0;
    for (Array& array : arrays) {
      if (array.offset > place) move(array, place);
      place = array.end();
    }
    if (place < end) file.truncate(place);
    end = place;
  }

  // Moves an array to a lower offset, from the front, so that no unread byte is overwritten.
  void move(Array& array, std::int64_t offset) {
    const std::int64_t source = array.data_offset(), bytes = array.rows * array.row_bytes;
    array.offset = offset;
    std::vector<std::byte> block(static_cast<std::size_t>(std::min(bytes, most_moved)));
    for (std::int64_t done = 0; done < bytes; done += std::ssize(block)) {
      block.resize(static_cast<std::size_t>(std::min(bytes - done, std::ssize(block))));
      file.read_at(source + done, block);
      file.write_at(array.data_offset() + done, block);
    }
  }

  std::filesystem::path path;
  std::string comment;
  AtomicFile file;
  std::vector<Array> arrays;
  std::unordered_map<std::string, std::size_t> positions;
  std::int64_t end = 0;
};

NpzWriter::NpzWriter(const std::filesystem::path& path) : state_(std::make_unique<State>(path)) {}
NpzWriter::~NpzWriter() = default;
NpzWriter::NpzWriter(NpzWriter&&) noexcept = default;

void NpzWriter::add(const std::string& name, const TensorView& tensor) {
  const Shape shape(tensor.shape.begin(), tensor.shape.end());
  Array& array = state_->place(
      {.name = name, .dtype = tensor.dtype, .shape = shape, .row_shape = shape, .rows = 1});
  state_->write_row(array, tensor);
}

void NpzWriter::reserve(const std::string& name, DType dtype, const Shape& slice_shape,
                        std::int64_t rows) {
  Shape shape = slice_shape;
  shape.insert(shape.begin(), rows);
  element_count(shape);
  state_->place({.name = name,
                 .dtype = dtype,
                 .shape = std::move(shape),
                 .row_shape = slice_shape,
                 .rows = rows});
}

void NpzWriter::append(const std::string& name, const TensorView& slice) {
  const auto found = state_->positions.find(name);
  if (found == state_->positions.end()) state_->fail(name, "was not reserved");
  Array& array = state_->arrays[found->second];
  if (array.rows_written == array.rows)
    state_->fail(name, fmt::format("expected {} rows, found another", array.rows));
  if (slice.dtype != array.dtype || !std::ranges::equal(slice.shape, array.row_shape))
    state_->fail(name, fmt::format("expected rows of {} {}, found {} {}", dtype_name(array.dtype),
                                   format_shape(array.row_shape), dtype_name(slice.dtype),
                                   format_shape(slice.shape)));
  state_->write_row(array, slice);
}

// The space remains in the file; readers only see members in the directory.
void NpzWriter::drop(const std::string& name) {
  const auto found = state_->positions.find(name);
  if (found == state_->positions.end()) state_->fail(name, "was not reserved");
  const std::size_t position = found->second;
  state_->arrays.erase(state_->arrays.begin() + static_cast<std::ptrdiff_t>(position));
  state_->positions.erase(found);
  for (auto& [other, index] : state_->positions)
    if (index > position) --index;
}

void NpzWriter::truncate(std::int64_t rows) {
  for (Array& array : state_->arrays) {
    if (array.shape.size() == array.row_shape.size()) continue;  // added whole
    if (rows > array.rows_written)
      state_->fail(array.name,
                   fmt::format("expected {} rows to keep, found {}", rows, array.rows_written));
    if (rows < array.rows_written) array.data_crc = state_->crc_of_rows(array, rows);
    array.rows = array.rows_written = array.shape.front() = rows;
  }
}

void NpzWriter::close_holes() { state_->close_holes(); }

void NpzWriter::set_comment(const std::string& comment) {
  if (comment.size() > std::numeric_limits<std::uint16_t>::max())
    throw Error(fmt::format("[npz] {}: a comment has at most 65535 bytes, found {}",
                            state_->path.string(), comment.size()));
  state_->comment = comment;
}

void NpzWriter::finish() {
  for (const Array& array : state_->arrays)
    if (array.rows_written < array.rows)
      state_->fail(array.name,
                   fmt::format("expected {} rows, found {}", array.rows, array.rows_written));
  std::string directory;
  for (const Array& array : state_->arrays)
    directory += zip_directory_entry(state_->write_headers(array));
  const std::string tail =
      zip_directory_end(state_->arrays.size(), state_->end, directory.size(), state_->comment);
  state_->file.write_at(state_->end, directory + tail);
  state_->file.commit();
}

}  // namespace vernier
