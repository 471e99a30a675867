#include "vernier/tensor/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "vernier/error.h"

namespace vernier {
namespace {

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
  // A pipe is opened without waiting for its writer, and then refused.
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status {};
  if (file.fd < 0 || fstat(file.fd, &status) != 0) throw cannot_open(std::strerror(errno));
  if (!S_ISREG(status.st_mode)) throw cannot_open("not a file");
  if (status.st_size == 0) return;
  const auto size = static_cast<std::size_t>(status.st_size);
  void* data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
  if (data == MAP_FAILED) throw cannot_open(std::strerror(errno));
  bytes_ = {static_cast<const std::byte*>(data), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void forget(std::span<const std::byte> mapped) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::size_t before = reinterpret_cast<std::uintptr_t>(mapped.data()) % page;
  auto* begin = const_cast<std::byte*>(mapped.data()) - before;
  madvise(begin, before + mapped.size(), MADV_DONTNEED);
}

}  // namespace vernier
