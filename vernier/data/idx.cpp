#include "vernier/data/idx.h"

#include <fmt/format.h>
#include <zlib.h>

#include <array>
#include <memory>

#include "vernier/data/byte_order.h"
#include "vernier/error.h"

namespace vernier {
namespace {

constexpr std::uint8_t unsigned_byte = 0x08;
constexpr std::int64_t max_deflate_ratio = 1032;

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& reason) {
  throw Error(fmt::format("[idx] {}: {}", path.string(), reason));
}

// zlib's reader passes through what is not gzipped.
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

Tensor read_idx(const std::filesystem::path& path) {
  GzFile file(path);
  Shape shape = read_shape(file, path);
  const auto stored = static_cast<std::int64_t>(std::filesystem::file_size(path));
  const std::int64_t most = file.is_gzipped() ? stored * max_deflate_ratio : stored;
  if (element_count(shape) > most)
    fail(path, fmt::format("claims the shape {}, more than its {} bytes can hold",
                           format_shape(shape), stored));
  Tensor tensor = make_tensor(path.filename().string(), DType::u8, std::move(shape));
  file.read(tensor.bytes);
  return tensor;
}

}  // namespace vernier
