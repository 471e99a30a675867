#include "vernier/tensor/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>

#include "tests/temporary_directory.h"
#include "tests/tensor/tensors.h"
#include "vernier/error.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::ThrowsMessage;

int files_in(const TemporaryDirectory& directory) {
  return static_cast<int>(std::distance(fs::directory_iterator(directory.path()), {}));
}

TEST(AtomicFile, nothing_is_seen_under_the_name_before_commit) {
  const TemporaryDirectory directory;
  AtomicFile file(directory / "a.txt");
  file.append("hello ");
  file.append("world");
  EXPECT_FALSE(fs::exists(directory / "a.txt"));
  file.commit();
  EXPECT_EQ(read_text(directory / "a.txt"), "hello world");
  EXPECT_EQ(files_in(directory), 1);
}

TEST(AtomicFile, without_commit_the_old_file_stays_and_nothing_else) {
  const TemporaryDirectory directory;
  write_text(directory / "a.txt", "old");
  AtomicFile(directory / "a.txt").append("new");
  EXPECT_EQ(read_text(directory / "a.txt"), "old");
  EXPECT_EQ(files_in(directory), 1);
}

TEST(AtomicFile, bytes_are_placed_where_they_are_asked_for) {
  const TemporaryDirectory directory;
  AtomicFile file(directory / "a.txt");
  file.write_at(4, "world");
  file.write_at(0, "bad");
  std::string back(5, ' ');
  file.read_at(4, std::as_writable_bytes(std::span(back)));
  EXPECT_EQ(back, "world");
  file.commit();
  EXPECT_EQ(read_text(directory / "a.txt"), std::string("bad\0world", 9));
}

TEST(AtomicFile, a_symbolic_link_is_followed) {
  const TemporaryDirectory directory;
  write_text(directory / "real.txt", "old");
  fs::create_symlink("real.txt", directory / "link.txt");
  write_file_atomically(directory / "link.txt", "new");
  EXPECT_TRUE(fs::is_symlink(directory / "link.txt"));
  EXPECT_EQ(read_text(directory / "real.txt"), "new");
}

TEST(AtomicFile, a_new_file_has_the_permissions_the_umask_leaves) {
  const TemporaryDirectory directory;
  const mode_t before = umask(027);
  write_file_atomically(directory / "a.txt", "");
  umask(before);
  EXPECT_EQ(fs::status(directory / "a.txt").permissions(), static_cast<fs::perms>(0640));
}

TEST(AtomicFile, a_file_that_is_replaced_keeps_its_permissions) {
  const TemporaryDirectory directory;
  write_text(directory / "a.txt", "old");
  fs::permissions(directory / "a.txt", static_cast<fs::perms>(0604));
  write_file_atomically(directory / "a.txt", "new");
  EXPECT_EQ(fs::status(directory / "a.txt").permissions(), static_cast<fs::perms>(0604));
}

TEST(AtomicFile, a_name_without_directory_is_in_the_current_one) {
  const TemporaryDirectory directory;
  const fs::path before = fs::current_path();
  fs::current_path(directory.path());
  write_file_atomically("a.txt", "here");
  fs::current_path(before);
  EXPECT_EQ(read_text(directory / "a.txt"), "here");
}

TEST(AtomicFile, a_device_is_written_and_not_replaced) {
  write_file_atomically("/dev/null", "gone");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST(AtomicFileErrors, a_full_disk_is_named) {
  EXPECT_THAT([] { write_file_atomically("/dev/full", "x"); },
              ThrowsMessage<Error>("[write] /dev/full: cannot write: No space left on device"));
}

TEST(AtomicFileErrors, a_missing_directory_is_named) {
  const TemporaryDirectory directory;
  EXPECT_THAT([&] { AtomicFile(directory / "none/a.txt"); },
              ThrowsMessage<Error>(HasSubstr("none/a.txt: cannot create: No such file")));
}

TEST(AtomicFileErrors, a_directory_of_that_name_is_named) {
  const TemporaryDirectory directory;
  EXPECT_THAT([&] { AtomicFile(directory.path()); },
              ThrowsMessage<Error>(HasSubstr("cannot open for writing: Is a directory")));
}

}  // namespace
}  // namespace vernier
