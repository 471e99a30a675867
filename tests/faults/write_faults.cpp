// Preloaded into the program: call number VERNIER_FAULT, counting from 1, of those that change
// files fails as on a full or broken disk. With VERNIER_FAULT_CALLS set, the number of calls is
// written to the file of that name when the program ends.

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

namespace {

std::atomic<int> calls = 0;

bool is_file(int descriptor) {
  struct stat status {};
  return fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
}

bool fails() {
  static const char* wanted = std::getenv("VERNIER_FAULT");
  const int call = ++calls;
  if (!wanted || call != std::atoi(wanted)) return false;
  errno = ENOSPC;
  return true;
}

template <typename Function>
Function real(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

struct Count {
  ~Count() {
    const char* path = std::getenv("VERNIER_FAULT_CALLS");
    if (!path) return;
    if (std::FILE* file = std::fopen(path, "a")) {
      std::fprintf(file, "%d\n", calls.load());
      std::fclose(file);
    }
  }
} count;

}  // namespace

extern "C" {

ssize_t write(int descriptor, const void* bytes, size_t size) {
  if (is_file(descriptor) && descriptor > 2 && fails()) return -1;
  return real<ssize_t (*)(int, const void*, size_t)>("write")(descriptor, bytes, size);
}

ssize_t pwrite64(int descriptor, const void* bytes, size_t size, off64_t offset) {
  if (fails()) return -1;
  return real<ssize_t (*)(int, const void*, size_t, off64_t)>("pwrite64")(descriptor, bytes, size,
                                                                          offset);
}

ssize_t pwrite(int descriptor, const void* bytes, size_t size, off_t offset) {
  if (fails()) return -1;
  return real<ssize_t (*)(int, const void*, size_t, off_t)>("pwrite")(descriptor, bytes, size,
                                                                      offset);
}

int fsync(int descriptor) {
  if (is_file(descriptor) && fails()) return -1;
  return real<int (*)(int)>("fsync")(descriptor);
}

int ftruncate64(int descriptor, off64_t size) noexcept {
  if (is_file(descriptor) && fails()) return -1;
  return real<int (*)(int, off64_t)>("ftruncate64")(descriptor, size);
}

int linkat(int from, const char* source, int to, const char* target, int flags) noexcept {
  if (fails()) return -1;
  return real<int (*)(int, const char*, int, const char*, int)>("linkat")(from, source, to, target,
                                                                          flags);
}

int rename(const char* from, const char* to) noexcept {
  if (fails()) return -1;
  return real<int (*)(const char*, const char*)>("rename")(from, to);
}
}
