#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

struct zip;
struct zip_file;

namespace vernier {

struct ZipMember {
  std::uint64_t index = 0;
  std::string name;  // as its bytes are, in whatever encoding
  bool operator==(const ZipMember&) const = default;
};

// The data of one member, from its beginning to its end. The archive must outlive it.
class ZipMemberReader {
 public:
  // `subject` names the member in errors.
  ZipMemberReader(zip* archive, std::uint64_t index, std::int64_t size, std::string subject);

  std::int64_t size() const { return size_; }
  const std::string& subject() const { return subject_; }
  void read(std::span<std::byte> out);  // all of out, or throws Error
  void expect_end();                    // throws Error if there is more, or the checksum is wrong

 private:
  struct Close {
    void operator()(zip_file* file) const;
  };
  [[noreturn]] void fail(std::string_view found) const;

  std::int64_t size_;
  std::string subject_;
  std::unique_ptr<zip_file, Close> file_;
};

// A zip archive opened for reading.
class ZipArchive {
 public:
  explicit ZipArchive(std::filesystem::path path);

  const std::filesystem::path& path() const { return path_; }
  const std::vector<ZipMember>& members() const { return members_; }
  // Throws Error if the member is encrypted, compressed by anything but deflate, or claims a size
  // that the file cannot hold.
  ZipMemberReader open(const ZipMember& member) const;

 private:
  struct Discard {
    void operator()(zip* archive) const;
  };

  std::filesystem::path path_;
  std::unique_ptr<zip, Discard> archive_;
  std::vector<ZipMember> members_;
};

}  // namespace vernier
