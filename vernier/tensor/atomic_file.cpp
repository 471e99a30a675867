#include "vernier/tensor/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>
#include <utility>

#include "vernier/activity.h"
#include "vernier/error.h"

namespace vernier {
namespace fs = std::filesystem;
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// Calls `transfer(done)` for the remaining bytes until all are transferred. Returns false on
// failure; a transfer of 0 bytes is a failure.
template <typename Transfer>
bool transfer_all(std::size_t size, Transfer transfer) {
  for (std::size_t done = 0; done < size;) {
    const ssize_t moved = transfer(done);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0) return false;
    done += static_cast<std::size_t>(moved);
  }
  return true;
}

// Opens an unnamed file (O_TMPFILE) if the file system supports it, so that a killed process leaves
// nothing behind; commit() gives it a name.
int open_temporary(const fs::path& path) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
  if (::access("/proc/self/fd", X_OK) == 0)
    if (const int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0666); file >= 0)
      return file;
  return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
}

bool give_name(int descriptor, const fs::path& path) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) return false;
  if (status.st_nlink > 0) return true;
  const std::string source = fmt::format("/proc/self/fd/{}", descriptor);
  return ::linkat(AT_FDCWD, source.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

// Copies owner and permissions of the file that is replaced.
void keep_permissions(int descriptor, const fs::path& replaced) {
  struct stat status {};
  if (::stat(replaced.c_str(), &status) != 0) return;
  if (::fchown(descriptor, status.st_uid, status.st_gid) != 0) errno = 0;  // allowed to fail
  ::fchmod(descriptor, status.st_mode & 07777);
}

// Flushes to disk; true if the file system does not support that.
bool synchronise(int descriptor) {
  return ::fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS;
}

void synchronise_folder(const fs::path& folder) {
  const int descriptor =
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  synchronise(descriptor);
  ::close(descriptor);
}

}  // namespace

AtomicFile::AtomicFile(fs::path path) : path_(std::move(path)), target_(path_) {
  std::error_code ignored;
  if (fs::is_symlink(path_, ignored)) target_ = fs::weakly_canonical(path_, ignored);
  if (fs::exists(target_, ignored) && !fs::is_regular_file(target_, ignored)) {
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail("open for writing");
    return;
  }
  std::random_device random;
  do {
    temporary_ = target_.parent_path() / fmt::format(".vernier-{:08x}.tmp", random());
    descriptor_ = open_temporary(temporary_);
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) fail("create");
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::append(std::span<const std::byte> bytes) {
  const auto write_rest = [&](std::size_t done) {
    return ::write(descriptor_, bytes.data() + done, bytes.size() - done);
  };
  if (!transfer_all(bytes.size(), write_rest)) fail("write");
}

void AtomicFile::append(std::string_view text) { append(bytes_of(text)); }

void AtomicFile::write_at(std::int64_t offset, std::span<const std::byte> bytes) {
  const auto write_rest = [&](std::size_t done) {
    return ::pwrite(descriptor_, bytes.data() + done, bytes.size() - done,
                    offset + static_cast<std::int64_t>(done));
  };
  if (!transfer_all(bytes.size(), write_rest)) fail("write");
}

void AtomicFile::write_at(std::int64_t offset, std::string_view text) {
  write_at(offset, bytes_of(text));
}

void AtomicFile::read_at(std::int64_t offset, std::span<std::byte> out) const {
  errno = 0;
  const auto read_rest = [&](std::size_t done) {
    return ::pread(descriptor_, out.data() + done, out.size() - done,
                   offset + static_cast<std::int64_t>(done));
  };
  if (!transfer_all(out.size(), read_rest)) fail("read back");
}

void AtomicFile::truncate(std::int64_t size) {
  if (ftruncate(descriptor_, size) != 0) fail("write");
}

void AtomicFile::commit() {
  if (records_nodes()) return;  // a second run that only locates the node that crashes
  if (!temporary_.empty()) {
    keep_permissions(descriptor_, target_);
    if (!synchronise(descriptor_)) fail("write");
    if (!give_name(descriptor_, temporary_)) fail("create");
  }
  const int descriptor = std::exchange(descriptor_, -1);
  if (::close(descriptor) != 0) fail("write");
  if (temporary_.empty()) return;
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail("replace");
  temporary_.clear();
  synchronise_folder(target_.parent_path());
}

void AtomicFile::fail(std::string_view action) const {
  throw Error(
      fmt::format("[write] {}: cannot {}: {}", path_.string(), action, std::strerror(errno)));
}

void write_file_atomically(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.append(text);
  file.commit();
}

}  // namespace vernier
