#include "vernier/tensor/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "vernier/error.h"

namespace vernier {
namespace {

std::int64_t change_time(const struct stat& status) {
  return status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
}

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) close(fd);
  }
};

}  // namespace

MappedFile::MappedFile(const std::filesystem::path& path, std::string_view operation) {
  const auto cannot_open = [&](const char* reason) {
    return Error(fmt::format("[{}] {}: cannot open: {}", operation, path.string(), reason));
  };
  std::error_code unknown;
  if (!std::filesystem::exists(path, unknown) && !unknown)
    throw Error(fmt::format("[{}] {}: no such file or folder", operation, path.string()));
  // O_NONBLOCK: a pipe is opened without waiting for a writer, and then refused.
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status {};
  if (file.fd < 0 || fstat(file.fd, &status) != 0) throw cannot_open(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) throw cannot_open("not a file");
  std::error_code ignored;
  path_ = std::filesystem::absolute(path, ignored);
  device_ = status.st_dev;
  number_ = status.st_ino;
  changed_ = change_time(status);
  if (status.st_size == 0) return;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (data == MAP_FAILED) throw cannot_open(std::strerror(errno));
  bytes_ = {static_cast<const std::byte*>(data), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::require_unchanged() const {
  struct stat status {};
  if (stat(path_.c_str(), &status) != 0 || status.st_dev != device_ || status.st_ino != number_)
    return;
  if (static_cast<std::size_t>(status.st_size) != bytes_.size() || change_time(status) != changed_)
    throw Error(fmt::format(
        "[file] {}: was {} while it was in use; restore it, and leave it alone meanwhile",
        path_.string(),
        static_cast<std::size_t>(status.st_size) < bytes_.size() ? "cut off" : "changed"));
}

void forget(std::span<const std::byte> mapped) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::size_t before = reinterpret_cast<std::uintptr_t>(mapped.data()) % page;
  auto* begin = const_cast<std::byte*>(mapped.data()) - before;
  madvise(begin, before + mapped.size(), MADV_DONTNEED);
}

}  // namespace vernier
