#pragma once

#include <filesystem>

namespace vernier {

// A new folder for temporary files; the destructor removes it with all that is in it.
class TemporaryFolder {
 public:
  // Throws Error if it cannot be made.
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace vernier
