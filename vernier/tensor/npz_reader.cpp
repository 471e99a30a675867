#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "vernier/error.h"
#include "vernier/tensor/npz.h"
#include "vernier/tensor/npz_name.h"
#include "vernier/tensor/zip_archive.h"

namespace vernier {
namespace {

// A member whose header has been read and whose elements come next.
struct OpenArray {
  explicit OpenArray(ZipMemberReader reader)
      : member(std::move(reader)),
        header(read_npy_header(bytes(), member.size(), member.subject())) {}

  ByteReader bytes() {
    return [this](std::span<std::byte> out) { member.read(out); };
  }

  Tensor read_all(const std::string& name) {
    Tensor tensor = read_npy_data(bytes(), header, name);
    member.expect_end();
    return tensor;
  }

  ZipMemberReader member;
  NpyHeader header;
};

// Rows [begin, begin + rows) of a C-order tensor.
Tensor slice_rows(const Tensor& tensor, std::int64_t begin, std::int64_t rows) {
  Shape shape = tensor.shape;
  shape.front() = rows;
  Tensor slice = make_tensor(tensor.name, tensor.dtype, std::move(shape));
  if (rows > 0) {
    const std::size_t row_bytes = slice.bytes.size() / static_cast<std::size_t>(rows);
    std::copy_n(tensor.bytes.begin() + begin * row_bytes, slice.bytes.size(), slice.bytes.begin());
  }
  return slice;
}

}  // namespace

struct NpzReader::State {
  explicit State(const std::filesystem::path& path) : archive(path) {
    for (const ZipMember& member : archive.members()) {
      std::string_view name = member.name;
      if (!name.ends_with(".npy")) continue;
      name.remove_suffix(4);
      check_npz_name(path, name);
      if (!members.emplace(name, &member).second)
        throw Error(fmt::format("[npz] {}: expected each name once, found '{}' again",
                                path.string(), name));
      names.emplace_back(name);
    }
  }

  OpenArray open(const std::string& name) const {
    const auto found = members.find(name);
    if (found == members.end())
      throw Error(fmt::format("[npz] {}: expected an array '{}', found none of that name",
                              archive.path().string(), name));
    return OpenArray(archive.open(*found->second));
  }

  ZipArchive archive;
  std::vector<std::string> names;
  std::unordered_map<std::string, const ZipMember*> members;
};

NpzReader::NpzReader(const std::filesystem::path& path) : state_(std::make_shared<State>(path)) {}
NpzReader::~NpzReader() = default;
NpzReader::NpzReader(NpzReader&&) noexcept = default;

const std::vector<std::string>& NpzReader::names() const { return state_->names; }
bool NpzReader::has(const std::string& name) const { return state_->members.contains(name); }
NpyHeader NpzReader::header(const std::string& name) const { return state_->open(name).header; }
Tensor NpzReader::read(const std::string& name) const { return state_->open(name).read_all(name); }

struct NpzArrayStream::State {
  std::string name;
  std::shared_ptr<const NpzReader::State> archive;
  OpenArray array;
  std::int64_t rows_left = 0;
  std::optional<Tensor> whole = {};  // a Fortran-order array, once its first rows were asked for
};

NpzArrayStream::NpzArrayStream(const NpzReader& reader, const std::string& name)
    : state_(new State{name, reader.state_, reader.state_->open(name)}) {
  const Shape& shape = header().shape;
  if (shape.empty())
    throw Error(fmt::format("[npz] {}: expected a leading axis to read along, found a scalar",
                            state_->array.member.subject()));
  state_->rows_left = shape.front();
}
NpzArrayStream::~NpzArrayStream() = default;
NpzArrayStream::NpzArrayStream(NpzArrayStream&&) noexcept = default;

const NpyHeader& NpzArrayStream::header() const { return state_->array.header; }
std::int64_t NpzArrayStream::rows_left() const { return state_->rows_left; }

Tensor NpzArrayStream::next(std::int64_t rows) {
  State& state = *state_;
  if (rows < 0 || rows > state.rows_left)
    throw Error(fmt::format("[npz] {}: expected {} more rows, found {}",
                            state.array.member.subject(), rows, state.rows_left));
  const std::int64_t begin = header().shape.front() - state.rows_left;
  state.rows_left -= rows;
  if (header().fortran_order) {
    if (!state.whole) state.whole = state.array.read_all(state.name);
    return slice_rows(*state.whole, begin, rows);
  }
  Tensor tensor = read_npy_rows(state.array.bytes(), header(), state.name, rows);
  if (state.rows_left == 0) state.array.member.expect_end();
  return tensor;
}

}  // namespace vernier
