// Preloaded into the program: writes the path of each file that is opened as MappedFile opens it to
// the file VERNIER_OPENED, a line each.

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdlib>
#include <string>

extern "C" int open(const char* path, int flags, ...) {
  using Open = int (*)(const char*, int, ...);
  static const auto real = reinterpret_cast<Open>(dlsym(RTLD_NEXT, "open"));
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = va_arg(rest, mode_t);
  va_end(rest);
  const char* opened = std::getenv("VERNIER_OPENED");
  if (opened && flags == (O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
    const std::string line = std::string(path) + "\n";
    const int file = real(opened, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (write(file, line.data(), line.size()) < 0) std::abort();
    close(file);
  }
  return real(path, flags, mode);
}
