#include "vernier/tensor/sample_archive.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <optional>

#include "vernier/error.h"
#include "vernier/tensor/in_process.h"
#include "vernier/tensor/inflate_limit.h"
#include "vernier/tensor/npz.h"

namespace vernier {

class SampleArchive::Source {
 public:
  explicit Source(std::string subject, std::vector<std::string> names = {})
      : subject_(std::move(subject)), names_(std::move(names)) {}
  virtual ~Source() = default;
  const std::string& subject() const { return subject_; }
  const std::vector<std::string>& names() const { return names_; }
  virtual std::int64_t rows(const std::string& name) const = 0;
  virtual bool is_folder() const = 0;
  virtual Row row(const std::string& name, std::int64_t index) const = 0;
  virtual Tensor read(const std::string& name, std::int64_t first, std::int64_t count) = 0;

 protected:
  std::string subject_;
  std::vector<std::string> names_;
};

namespace {

using Row = SampleArchive::Row;

// Appends a row of the same dtype and shape to rows; `like` ends the message if it is another.
void append_row(Tensor& rows, const TensorView& row, std::string_view subject,
                std::string_view like) {
  if (row.dtype != rows.dtype || !std::ranges::equal(row.shape, std::span(rows.shape).subspan(1)))
    throw Error(fmt::format("{}: '{}' is {} {}, not like {}; rows of one batch must be alike",
                            subject, row.name, dtype_name(row.dtype), format_shape(row.shape),
                            like));
  rows.bytes.insert(rows.bytes.end(), row.bytes.begin(), row.bytes.end());
  ++rows.shape[0];
}

class ArchiveSource : public SampleArchive::Source {
 public:
  explicit ArchiveSource(const std::filesystem::path& path) : Source(path.string()), reader_(path) {
    names_ = reader_.names();
  }
  std::int64_t rows(const std::string& name) const override { return stacked(name).shape[0]; }

  bool is_folder() const override { return false; }

  Row row(const std::string& name, std::int64_t) const override {
    const NpyHeader header = stacked(name);
    return {subject_, header.dtype, {header.shape.begin() + 1, header.shape.end()}};
  }

  Tensor read(const std::string& name, std::int64_t first, std::int64_t count) override {
    NpzArrayStream& stream = stream_at(name, first);
    return stream.next(count);
  }

 private:
  NpyHeader stacked(const std::string& name) const {
    NpyHeader header = reader_.header(name);
    if (header.shape.empty())
      throw Error(fmt::format(
          "[npz] {}: '{}' is a scalar, expected samples along a leading axis; stack them", subject_,
          name));
    return header;
  }

  NpzArrayStream& stream_at(const std::string& name, std::int64_t first) {
    auto found = streams_.find(name);
    if (found != streams_.end() && position(found->second) > first) {
      streams_.erase(found);
      found = streams_.end();
    }
    if (found == streams_.end())
      found = streams_.emplace(name, NpzArrayStream(reader_, name)).first;
    while (position(found->second) < first) found->second.next(1);
    return found->second;
  }

  static std::int64_t position(const NpzArrayStream& stream) {
    return stream.header().shape[0] - stream.rows_left();
  }

  NpzReader reader_;
  std::map<std::string, NpzArrayStream> streams_;
};

// The array of an .npy file, whose leading axis is the sample. Read row by row, unless it is in
// Fortran order.
class NpySource : public SampleArchive::Source {
 public:
  explicit NpySource(const std::filesystem::path& path)
      : Source(path.string(), {path.stem().string()}) {
    require_file("[npy]", path);
    std::error_code error;
    const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path, error));
    file_.open(path, std::ios::binary);
    if (error || !file_)
      throw Error(fmt::format("[npy] {}: cannot open: {}", subject_,
                              error ? error.message() : std::strerror(errno)));
    header_ =
        read_npy_header([this](std::span<std::byte> out) { read_bytes(out); }, size, subject_);
    if (header_.shape.empty())
      throw Error(fmt::format(
          "[npy] {}: is a scalar, expected samples along a leading axis; stack them", subject_));
    begin_ = file_.tellg();
    if (header_.fortran_order) whole_ = read_npy(path);
  }

  std::int64_t rows(const std::string&) const override { return header_.shape[0]; }
  bool is_folder() const override { return false; }
  Row row(const std::string&, std::int64_t) const override {
    return {subject_, header_.dtype, {header_.shape.begin() + 1, header_.shape.end()}};
  }
  Tensor read(const std::string& name, std::int64_t first, std::int64_t count) override {
    if (first < 0 || count < 0 || first + count > header_.shape[0])
      throw Error(fmt::format("[npy] {}: expected {} rows from {}, found {} in all", subject_,
                              count, first, header_.shape[0]));
    if (whole_) {
      Tensor part = rows_of(*whole_, first, count);
      part.name = name;
      return part;
    }
    file_.clear();
    file_.seekg(begin_ +
                first * (header_.data_bytes / std::max<std::int64_t>(header_.shape[0], 1)));
    return read_npy_rows([this](std::span<std::byte> out) { read_bytes(out); }, header_, name,
                         count);
  }

 private:
  void read_bytes(std::span<std::byte> out) {
    file_.read(reinterpret_cast<char*>(out.data()), std::ssize(out));
    if (file_.gcount() != std::ssize(out))
      throw Error(fmt::format("[npy] {}: expected {} bytes, found {}", subject_, out.size(),
                              file_.gcount()));
  }

  std::ifstream file_;
  NpyHeader header_;
  std::int64_t begin_ = 0;       // offset of the elements in the file
  std::optional<Tensor> whole_;  // a Fortran-order array, whose rows are not contiguous
};

class FolderSource : public SampleArchive::Source {
 public:
  explicit FolderSource(const std::filesystem::path& folder) : Source(folder.string()) {
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      if (entry.is_regular_file() && entry.path().extension() == ".npz")
        files_.push_back(entry.path());
    std::ranges::sort(files_, natural_less,
                      [](const auto& file) { return file.filename().string(); });
    if (files_.empty())
      throw Error(fmt::format(
          "[npz] {}: no .npz file in the folder; one for each sample is expected", subject_));
    names_ = NpzReader(files_[0]).names();
  }

  std::int64_t rows(const std::string&) const override {
    return static_cast<std::int64_t>(files_.size());
  }

  bool is_folder() const override { return true; }

  Row row(const std::string& name, std::int64_t index) const override {
    const NpzReader reader = open(name, index);
    const NpyHeader header = reader.header(name);
    return {files_[index].string(), header.dtype, header.shape};
  }

  Tensor read(const std::string& name, std::int64_t first, std::int64_t count) override {
    Tensor stacked = open(name, first).read(name);
    stacked.shape.insert(stacked.shape.begin(), 1);
    for (std::int64_t i = first + 1; i < first + count; ++i)
      append_row(stacked, open(name, i).read(name), "[npz] " + files_[i].string(),
                 "the file before it");
    return stacked;
  }

 private:
  NpzReader open(const std::string& name, std::int64_t index) const {
    if (index >= static_cast<std::int64_t>(files_.size()))
      throw Error(fmt::format("[npz] {}: has {} samples, sample {} was asked for", subject_,
                              files_.size(), index));
    NpzReader reader(files_[index]);
    if (!reader.has(name))
      throw Error(
          fmt::format("[npz] {}: has no array '{}', expected in every file of the folder; "
                      "it has {}",
                      files_[index].string(), name, fmt::join(reader.names(), ", ")));
    return reader;
  }

  std::vector<std::filesystem::path> files_;
};

// Arrays in this process's memory.
class MemorySource : public SampleArchive::Source {
 public:
  MemorySource(const std::filesystem::path& path, std::shared_ptr<const InProcessArrays> arrays)
      : Source(path.filename().string()), arrays_(std::move(arrays)) {
    for (const TensorView& array : arrays_->samples[0]) names_.emplace_back(array.name);
  }

  std::int64_t rows(const std::string& name) const override {
    return arrays_->stacked ? array(name, 0).shape[0]
                            : static_cast<std::int64_t>(arrays_->samples.size());
  }
  bool is_folder() const override { return !arrays_->stacked; }
  Row row(const std::string& name, std::int64_t index) const override {
    const TensorView found = array(name, arrays_->stacked ? 0 : index);
    return {subject_,
            found.dtype,
            {found.shape.begin() + (arrays_->stacked ? 1 : 0), found.shape.end()}};
  }
  Tensor read(const std::string& name, std::int64_t first, std::int64_t count) override {
    if (first < 0 || count < 0 || first + count > rows(name))
      throw Error(fmt::format("[arrays] {}: expected {} samples from {} of '{}', found {} in all",
                              subject_, count, first, name, rows(name)));
    if (arrays_->stacked) return rows_of(array(name, 0), first, count);
    Tensor stacked = copy(array(name, first));
    stacked.shape.insert(stacked.shape.begin(), 1);
    for (std::int64_t i = first + 1; i < first + count; ++i)
      append_row(stacked, array(name, i), "[arrays] " + subject_, "the sample before it");
    return stacked;
  }

 private:
  const TensorView& array(const std::string& name, std::int64_t sample) const {
    const auto& arrays = arrays_->samples[static_cast<std::size_t>(sample)];
    const auto found = std::ranges::find(arrays, name, &TensorView::name);
    if (found == arrays.end())
      throw Error(fmt::format("[arrays] {}: sample {} has no array '{}'; the first one has",
                              subject_, sample, name));
    return *found;
  }

  std::shared_ptr<const InProcessArrays> arrays_;
};

std::unique_ptr<SampleArchive::Source> open_source(const std::filesystem::path& path) {
  if (auto arrays = find_arrays(path))
    return std::make_unique<MemorySource>(path, std::move(arrays));
  if (path.extension() == ".npy") return std::make_unique<NpySource>(path);
  if (std::filesystem::is_directory(path)) return std::make_unique<FolderSource>(path);
  return std::make_unique<ArchiveSource>(path);
}

}  // namespace

SampleArchive::SampleArchive(const std::filesystem::path& path) : source_(open_source(path)) {}
SampleArchive::~SampleArchive() = default;
SampleArchive::SampleArchive(SampleArchive&&) noexcept = default;

const std::string& SampleArchive::subject() const { return source_->subject(); }
const std::vector<std::string>& SampleArchive::names() const { return source_->names(); }
bool SampleArchive::has(const std::string& name) const {
  return std::ranges::find(names(), name) != names().end();
}
std::int64_t SampleArchive::rows(const std::string& name) const { return source_->rows(name); }
bool SampleArchive::is_folder() const { return source_->is_folder(); }
Row SampleArchive::row(const std::string& name, std::int64_t index) const {
  return source_->row(name, index);
}
Tensor SampleArchive::read(const std::string& name, std::int64_t first, std::int64_t count) {
  return source_->read(name, first, count);
}

bool natural_less(std::string_view left, std::string_view right) {
  const auto digits = [](std::string_view text) {
    return text.substr(0, std::min(text.find_first_not_of("0123456789"), text.size()));
  };
  const auto without_zeros = [](std::string_view text) {
    return text.substr(std::min(text.find_first_not_of('0'), text.size()));
  };
  while (!left.empty() && !right.empty()) {
    const std::string_view left_run = digits(left), right_run = digits(right);
    if (!left_run.empty() && !right_run.empty()) {
      const std::string_view left_number = without_zeros(left_run);
      const std::string_view right_number = without_zeros(right_run);
      if (left_number.size() != right_number.size())
        return left_number.size() < right_number.size();
      if (left_number != right_number) return left_number < right_number;
      left.remove_prefix(left_run.size());
      right.remove_prefix(right_run.size());
    } else {
      if (left[0] != right[0]) return left[0] < right[0];
      left.remove_prefix(1);
      right.remove_prefix(1);
    }
  }
  return left.size() < right.size();
}

}  // namespace vernier
