#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "vernier/error.h"
#include "vernier/tensor/inflate_limit.h"
#include "vernier/tensor/npz.h"
#include "vernier/utf8.h"

namespace vernier {
namespace {

// A deflate stream needs at least two bits for a match of at most 258 bytes.
constexpr std::uint64_t max_deflate_ratio = std::uint64_t{258} * 4;

zip_t* open_archive(const std::filesystem::path& path) {
  require_file("[npz]", path);
  int code = 0;
  if (zip_t* archive = zip_open(path.c_str(), ZIP_RDONLY, &code)) return archive;
  if (code == ZIP_ER_NOENT)
    throw Error(fmt::format("[npz] {}: no such file or folder", path.string()));
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const std::string reason = zip_error_strerror(&error);
  zip_error_fini(&error);
  if (code == ZIP_ER_NOZIP || code == ZIP_ER_INCONS)
    throw Error(
        fmt::format("[npz] {}: is not an .npz, or was cut off; save it again", path.string()));
  throw Error(fmt::format("[npz] {}: cannot be read: {}", path.string(), reason));
}

// The reason why a member cannot be read; empty if it can. Its sizes must fit the file's size.
std::string refusal(const zip_stat_t& stat, std::uint64_t file_size) {
  constexpr zip_uint64_t needed =
      ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  if ((stat.valid & needed) != needed) return "expected sizes and a method, found none";
  if (stat.encryption_method != ZIP_EM_NONE) return "expected plain data, found it encrypted";
  const bool is_deflated = stat.comp_method == ZIP_CM_DEFLATE;
  if (!is_deflated && stat.comp_method != ZIP_CM_STORE)
    return fmt::format("expected stored or deflated data, found compression method {}",
                       stat.comp_method);
  if (stat.comp_size > file_size)
    return fmt::format("compressed size: expected at most the file's {} bytes, found {}", file_size,
                       stat.comp_size);
  const std::uint64_t most = is_deflated ? stat.comp_size * max_deflate_ratio : stat.comp_size;
  if (stat.size > most)
    return fmt::format("size: expected at most {} bytes from {} compressed, found {}", most,
                       stat.comp_size, stat.size);
  return {};
}

// Reads the data of one member in order. The archive must outlive the reader.
class ZipMemberReader {
 public:
  // `subject` names the member in errors.
  ZipMemberReader(zip_t* archive, std::uint64_t index, std::int64_t size, std::string subject)
      : size_(size),
        subject_(std::move(subject)),
        file_(zip_fopen_index(archive, index, 0), zip_fclose) {
    if (!file_) fail(zip_strerror(archive));
  }

  std::int64_t size() const { return size_; }
  const std::string& subject() const { return subject_; }

  // Fills all of `out`, or throws Error.
  void read(std::span<std::byte> out) {
    while (!out.empty()) {
      const zip_int64_t count = zip_fread(file_.get(), out.data(), out.size());
      if (count < 0) fail(zip_file_strerror(file_.get()));
      if (count == 0) fail(fmt::format("the end, {} bytes early", out.size()));
      out = out.subspan(static_cast<std::size_t>(count));
    }
  }

  // Throws Error if there is more data, or if the checksum, which libzip verifies here, is wrong.
  void expect_end() {
    std::byte extra;
    const zip_int64_t count = zip_fread(file_.get(), &extra, 1);
    if (count < 0) fail(zip_file_strerror(file_.get()));
    if (count > 0) fail("more");
  }

 private:
  [[noreturn]] void fail(std::string_view found) const {
    throw Error(fmt::format("[npz] {}: expected {} bytes, found: {}", subject_, size_, found));
  }

  std::int64_t size_;
  std::string subject_;
  std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file_;
};

// A zip archive opened for reading.
class ZipArchive {
 public:
  explicit ZipArchive(std::filesystem::path path)
      : path_(std::move(path)), archive_(open_archive(path_), zip_discard) {
    const zip_int64_t count = zip_get_num_entries(archive_.get(), 0);
    require_disjoint(static_cast<zip_uint64_t>(count));
    for (zip_uint64_t i = 0; i < static_cast<zip_uint64_t>(count); ++i) {
      const char* name = zip_get_name(archive_.get(), i, ZIP_FL_ENC_RAW);
      if (!name)
        throw Error(fmt::format("[npz] {}: member {}: {}", path_.string(), i,
                                zip_strerror(archive_.get())));
      members_.emplace_back(name);
    }
  }

  const std::filesystem::path& path() const { return path_; }
  std::string comment() const {
    int length = 0;
    const char* text = zip_get_archive_comment(archive_.get(), &length, ZIP_FL_ENC_RAW);
    return text ? std::string(text, static_cast<std::size_t>(length)) : std::string();
  }
  // Raw names, in any encoding.
  const std::vector<std::string>& members() const { return members_; }

  // Throws Error if the member is encrypted, compressed by another method than deflate, or declares
  // a size that the file cannot hold.
  ZipMemberReader open(std::uint64_t member) const {
    const std::string subject = fmt::format("{}: '{}'", path_.string(), members_[member]);
    zip_stat_t stat;
    const bool is_found = zip_stat_index(archive_.get(), member, 0, &stat) == 0;
    const std::string problem =
        is_found ? refusal(stat, std::filesystem::file_size(path_)) : zip_strerror(archive_.get());
    if (!problem.empty()) throw Error(fmt::format("[npz] {}: {}", subject, problem));
    require_inflatable("[npz] " + subject, stat.comp_size, stat.size);
    return {archive_.get(), member, static_cast<std::int64_t>(stat.size), subject};
  }

 private:
  // Overlapping members would let a small file expand without limit (a zip bomb).
  void require_disjoint(zip_uint64_t count) const {
    const std::uint64_t file_size = std::filesystem::file_size(path_);
    std::uint64_t total = 0;
    for (zip_uint64_t i = 0; i < count && total <= file_size; ++i) {
      zip_stat_t stat;
      if (zip_stat_index(archive_.get(), i, 0, &stat) == 0 && (stat.valid & ZIP_STAT_COMP_SIZE))
        total += std::min<std::uint64_t>(stat.comp_size, file_size);
    }
    if (total > file_size)
      throw Error(fmt::format(
          "[npz] {}: its members overlap, they take more than its {} bytes; write it anew",
          path_.string(), file_size));
  }

  std::filesystem::path path_;
  std::unique_ptr<zip_t, void (*)(zip_t*)> archive_;
  std::vector<std::string> members_;
};

// A member whose header has been read; the elements follow.
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

// Zip's limit of 16 bits, less ".npy".
constexpr std::size_t max_name_bytes = 0xffff - 4;

bool is_control(char character) {
  const auto code = static_cast<unsigned char>(character);
  return code < 0x20 || code == 0x7f;
}

bool has_parent_component(std::string_view name) {
  while (true) {
    const std::size_t slash = name.find_first_of("/\\");
    if (name.substr(0, slash) == "..") return true;
    if (slash == std::string_view::npos) return false;
    name.remove_prefix(slash + 1);
  }
}

}  // namespace

struct NpzReader::State {
  explicit State(const std::filesystem::path& path) : archive(path) {
    for (std::uint64_t member = 0; member < archive.members().size(); ++member) {
      std::string_view name = archive.members()[member];
      if (!name.ends_with(".npy")) continue;
      name.remove_suffix(4);
      check_npz_name(path, name);
      if (!members.emplace(name, member).second)
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
    return OpenArray(archive.open(found->second));
  }

  ZipArchive archive;
  std::vector<std::string> names;
  std::unordered_map<std::string, std::uint64_t> members;  // array name -> member index
};

NpzReader::NpzReader(const std::filesystem::path& path) : state_(std::make_shared<State>(path)) {}
NpzReader::~NpzReader() = default;
NpzReader::NpzReader(NpzReader&&) noexcept = default;

const std::vector<std::string>& NpzReader::names() const { return state_->names; }
bool NpzReader::has(const std::string& name) const { return state_->members.contains(name); }
NpyHeader NpzReader::header(const std::string& name) const { return state_->open(name).header; }
std::string NpzReader::comment() const { return state_->archive.comment(); }

Tensor NpzReader::read(const std::string& name) const { return state_->open(name).read_all(name); }

struct NpzArrayStream::State {
  std::string name;
  std::shared_ptr<const NpzReader::State> archive;
  OpenArray array;
  std::int64_t rows_left = 0;
  std::optional<Tensor> whole = {};  // a Fortran-order array, after the first next()
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
    return rows_of(*state.whole, begin, rows);
  }
  Tensor tensor = read_npy_rows(state.array.bytes(), header(), state.name, rows);
  if (state.rows_left == 0) state.array.member.expect_end();
  return tensor;
}

void check_npz_name(const std::filesystem::path& path, std::string_view name) {
  const auto fail = [&](std::string_view expected) {
    throw Error(fmt::format("[npz] {}: member name: expected {}, found {:?}", path.string(),
                            expected, name.substr(0, 80)));
  };
  if (name.empty()) fail("at least one character");
  if (name.size() > max_name_bytes) fail(fmt::format("at most {} bytes", max_name_bytes));
  if (has_parent_component(name)) fail("no '..' in the path");
  if (std::ranges::any_of(name, is_control)) fail("no control characters");
  if (!is_utf8(name)) fail("UTF-8");
}

}  // namespace vernier
