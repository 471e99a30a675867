#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>

#include "vernier/data/array_dataset.h"
#include "vernier/data/byte_order.h"
#include "vernier/data/dataset_formats.h"
#include "vernier/data/split.h"
#include "vernier/error.h"
#include "vernier/tensor/inflate_limit.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

bool is_images_name(const fs::path& path) {
  return is_idx_name(path) && path.filename().string().find("images") != std::string::npos;
}

// MNIST calls its test split t10k.
std::string split_of_idx(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.find("t10k") != std::string::npos ? "test" : split_of(path.filename());
}

fs::path find_images(const fs::path& folder, const std::string& split) {
  std::vector<fs::path> found;
  std::vector<std::string> splits;
  for (const auto& entry : fs::directory_iterator(folder))
    if (is_images_name(entry.path())) {
      splits.push_back(split_of_idx(entry.path()));
      if (split.empty() || splits.back() == split_name(split)) found.push_back(entry.path());
    }
  if (found.size() == 1) return found[0];
  std::ranges::sort(splits);
  throw Error(fmt::format("[dataset] {}: has images of the splits {}; choose one with --split",
                          folder.string(), fmt::join(splits, ", ")));
}

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  if (const auto at = text.find(from); at != text.npos) text.replace(at, from.size(), to);
  return text;
}

std::optional<Tensor> read_labels_of(const fs::path& images) {
  const std::string name =
      replaced(replaced(images.filename().string(), "images", "labels"), "idx3", "idx1");
  if (name == images.filename()) return std::nullopt;
  // Images and labels may be gzipped independently.
  const std::string plain = name.ends_with(".gz") ? name.substr(0, name.size() - 3) : name;
  for (const std::string& each : {name, plain, plain + ".gz"})
    if (const fs::path labels = images.parent_path() / each; fs::exists(labels))
      return read_idx(labels);
  return std::nullopt;
}

constexpr std::uint8_t unsigned_byte = 0x08;
constexpr std::int64_t max_deflate_ratio = 1032;

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& reason) {
  throw Error(fmt::format("[idx] {}: {}", path.string(), reason));
}

// Reads gzipped and plain files: gzread() passes plain data through.
class GzFile {
 public:
  explicit GzFile(const std::filesystem::path& path)
      : path_(path), file_(gzopen(path.c_str(), "rb"), gzclose) {
    if (!file_) fail(path, "cannot be opened");
  }
  void read(std::span<std::byte> out) {
    while (!out.empty()) {
      const auto part = static_cast<unsigned>(std::min<std::size_t>(out.size(), 1u << 30));
      const int count = gzread(file_.get(), out.data(), part);
      if (count <= 0) fail(path_, "is truncated or damaged");
      out = out.subspan(count);
    }
  }
  bool is_gzipped() { return gzdirect(file_.get()) == 0; }

 private:
  std::filesystem::path path_;
  std::unique_ptr<gzFile_s, int (*)(gzFile)> file_;
};

Shape read_shape(GzFile& file, const std::filesystem::path& path) {
  std::array<std::byte, 4> magic;
  file.read(magic);
  if (magic[0] != std::byte{0} || magic[1] != std::byte{0}) fail(path, "is not an IDX file");
  if (magic[2] != std::byte{unsigned_byte})
    fail(path, fmt::format("holds elements of type {:#04x}, expected bytes (0x08)",
                           std::to_integer<int>(magic[2])));
  Shape shape;
  for (int i = 0; i < std::to_integer<int>(magic[3]); ++i) {
    std::array<std::byte, 4> dim;
    file.read(dim);
    shape.push_back(load_big_endian<std::uint32_t>(dim, 0));
  }
  return shape;
}

}  // namespace

bool is_idx_name(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.ends_with("-ubyte") || name.ends_with("-ubyte.gz") || name.ends_with(".idx") ||
         name.ends_with(".idx.gz");
}

std::unique_ptr<Dataset> open_idx(const fs::path& images, const DatasetOptions& options) {
  const fs::path file = fs::is_directory(images) ? find_images(images, options.split) : images;
  return make_array_dataset(read_idx(file), read_labels_of(file), file.filename().string());
}

Tensor read_idx(const std::filesystem::path& path) {
  require_file("[idx]", path);
  GzFile file(path);
  Shape shape = read_shape(file, path);
  const auto stored = static_cast<std::int64_t>(std::filesystem::file_size(path));
  const std::int64_t most = file.is_gzipped() ? stored * max_deflate_ratio : stored;
  if (element_count(shape) > most)
    fail(path, fmt::format("claims the shape {}, more than its {} bytes can hold",
                           format_shape(shape), stored));
  require_inflatable(fmt::format("[idx] {}", path.string()), static_cast<std::uint64_t>(stored),
                     static_cast<std::uint64_t>(element_count(shape)));
  Tensor tensor = make_tensor(path.filename().string(), DType::u8, std::move(shape));
  file.read(tensor.bytes);
  return tensor;
}

}  // namespace vernier
