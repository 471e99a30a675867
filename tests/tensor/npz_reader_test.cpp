#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/temporary_directory.h"
#include "tests/tensor/tensors.h"
#include "tests/tensor/zip_bytes.h"
#include "vernier/error.h"
#include "vernier/tensor/npz.h"

namespace vernier {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::ThrowsMessage;

std::string npy_of(const Tensor& tensor) {
  const std::string data(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  return npy_header(tensor.dtype, tensor.shape) + data;
}

const Tensor matrix = counting("x", DType::i32, {4, 3});

class NpzReaderTest : public testing::Test {
 protected:
  NpzReader open(const std::vector<RawMember>& members) const { return open(zip_bytes(members)); }
  NpzReader open(const std::string& bytes) const {
    write_text(path_, bytes);
    return NpzReader(path_);
  }

  void expect_refused(const std::vector<RawMember>& members, const std::string& message) const {
    expect_refused(zip_bytes(members), message);
  }
  // Opening the archive, or reading the arrays in it, must give this one-line message.
  void expect_refused(const std::string& bytes, const std::string& message) const {
    EXPECT_THAT([&] { read_all(bytes); },
                ThrowsMessage<Error>(AllOf(HasSubstr("a.npz: " + message), Not(HasSubstr("\n")))));
  }
  void read_all(const std::string& bytes) const {
    const NpzReader reader = open(bytes);
    for (const std::string& name : reader.names()) reader.read(name);
  }

  TemporaryDirectory directory_;
  const std::filesystem::path path_ = directory_ / "a.npz";
};

TEST_F(NpzReaderTest, stored_and_deflated_arrays_are_read_by_name) {
  const NpzReader reader =
      open({stored_member("x.npy", npy_of(matrix)), deflated_member("a/b:0.npy", npy_of(matrix))});
  EXPECT_THAT(reader.names(), ElementsAre("x", "a/b:0"));
  EXPECT_TRUE(reader.has("a/b:0"));
  EXPECT_FALSE(reader.has("x.npy"));
  EXPECT_EQ(reader.read("x"), matrix);
  EXPECT_EQ(reader.read("a/b:0").bytes, matrix.bytes);
  EXPECT_EQ(reader.header("x").shape, matrix.shape);
}

TEST_F(NpzReaderTest, members_that_are_no_arrays_are_passed_over) {
  const NpzReader reader = open({stored_member("readme.txt", "hello"), stored_member("folder/", ""),
                                 stored_member("x.npy", npy_of(matrix))});
  EXPECT_THAT(reader.names(), ElementsAre("x"));
}

TEST_F(NpzReaderTest, an_empty_archive_has_no_names) {
  EXPECT_THAT(open(std::vector<RawMember>{}).names(), IsEmpty());
}

TEST_F(NpzReaderTest, names_with_a_leading_slash_or_other_alphabets_are_kept) {
  RawMember greek = stored_member("λ/größe.npy", npy_of(matrix));
  greek.flags = 1 << 11;
  const NpzReader reader =
      open({stored_member("/layer1/Conv_output_0.npy", npy_of(matrix)), greek});
  EXPECT_THAT(reader.names(), ElementsAre("/layer1/Conv_output_0", "λ/größe"));
}

TEST_F(NpzReaderTest, rows_are_read_in_turn) {
  const NpzReader reader = open({deflated_member("x.npy", npy_of(matrix))});
  NpzArrayStream stream(reader, "x");
  EXPECT_EQ(stream.rows_left(), 4);
  EXPECT_EQ(stream.next(1), counting("x", DType::i32, {1, 3}));
  EXPECT_EQ(stream.next(0), counting("x", DType::i32, {0, 3}));
  EXPECT_EQ(stream.next(3), counting("x", DType::i32, {3, 3}, 3));
  EXPECT_EQ(stream.rows_left(), 0);
  EXPECT_THAT([&] { stream.next(1); },
              ThrowsMessage<Error>(HasSubstr("'x.npy': expected 1 more rows, found 0")));
}

TEST_F(NpzReaderTest, streams_are_interleaved_and_outlive_their_reader) {
  auto reader = std::make_unique<NpzReader>(
      open({deflated_member("x.npy", npy_of(matrix)), stored_member("y.npy", npy_of(matrix))}));
  std::vector<NpzArrayStream> streams;
  for (const std::string name : {"x", "y", "x"}) streams.emplace_back(*reader, name);
  reader.reset();
  for (int row = 0; row < 4; ++row)
    for (NpzArrayStream& stream : streams)
      EXPECT_EQ(stream.next(1).bytes, counting("", DType::i32, {1, 3}, row * 3).bytes);
}

TEST_F(NpzReaderTest, rows_of_fortran_order_are_c_order) {
  std::string npy = npy_of(convert(matrix, DType::u8));
  npy.replace(npy.find("False"), 5, "True ");
  npy.replace(npy.size() - 12, 12, std::string("\0\3\6\x9\1\4\7\xa\2\5\x8\xb", 12));
  const NpzReader reader = open({deflated_member("x.npy", npy)});
  EXPECT_EQ(reader.read("x"), convert(matrix, DType::u8));
  NpzArrayStream stream(reader, "x");
  EXPECT_EQ(stream.next(0).size(), 0);
  EXPECT_EQ(stream.next(1), counting("x", DType::u8, {1, 3}));
  EXPECT_EQ(stream.next(3), counting("x", DType::u8, {3, 3}, 3));
}

TEST_F(NpzReaderTest, an_array_without_rows_or_elements_can_be_streamed) {
  const NpzReader reader =
      open({stored_member("none.npy", npy_of(counting("", DType::f32, {0, 3}))),
            stored_member("void.npy", npy_of(counting("", DType::f32, {2, 0})))});
  EXPECT_EQ(NpzArrayStream(reader, "none").rows_left(), 0);
  NpzArrayStream stream(reader, "void");
  EXPECT_EQ(stream.next(2).shape, (Shape{2, 0}));
}

TEST_F(NpzReaderTest, a_scalar_has_no_rows_to_stream) {
  const NpzReader reader = open({stored_member("x.npy", npy_of(counting("", DType::f32, {})))});
  EXPECT_THAT(
      [&] { NpzArrayStream(reader, "x"); },
      ThrowsMessage<Error>(HasSubstr("expected a leading axis to read along, found a scalar")));
}

TEST_F(NpzReaderTest, an_unknown_name_is_named) {
  const NpzReader reader = open({stored_member("x.npy", npy_of(matrix))});
  EXPECT_THAT([&] { reader.read("y"); },
              ThrowsMessage<Error>(HasSubstr("a.npz: expected an array 'y', found none")));
}

TEST_F(NpzReaderTest, what_is_no_archive_is_named) {
  EXPECT_THAT([&] { NpzReader{path_}; }, ThrowsMessage<Error>(HasSubstr("a.npz: no such file")));
  expect_refused(std::string("no zip at all"), "is not an .npz, or was cut off");
  expect_refused(npy_of(matrix), "is not an .npz, or was cut off");
  EXPECT_THROW(NpzReader{directory_.path()}, Error);
}

TEST_F(NpzReaderTest, a_member_that_is_no_npy_is_named) {
  expect_refused({stored_member("x.npy", "hello, this is text")},
                 "'x.npy': magic: expected \"\\x93NUMPY\", found \"hello,\"");
  expect_refused({stored_member("x.npy", "")}, "'x.npy': magic: expected 8 bytes, found 0");
}

TEST_F(NpzReaderTest, names_that_lead_elsewhere_are_refused) {
  for (const std::string name : {"../x", "a/../../x", "..", "a\\..\\x"})
    expect_refused({stored_member(name + ".npy", npy_of(matrix))},
                   fmt::format("member name: expected no '..' in the path, found {:?}", name));
  expect_refused({stored_member("a\x1b[31m.npy", npy_of(matrix))},
                 "member name: expected no control characters, found \"a\\x1b[31m\"");
  expect_refused({stored_member(".npy", npy_of(matrix))},
                 "member name: expected at least one character, found \"\"");
  EXPECT_THAT(open({stored_member("a..b/..c.npy", npy_of(matrix))}).names(),
              ElementsAre("a..b/..c"));
}

TEST_F(NpzReaderTest, a_name_given_twice_is_refused) {
  const RawMember member = stored_member("x.npy", npy_of(matrix));
  expect_refused({member, member}, "expected each name once, found 'x' again");
}

TEST_F(NpzReaderTest, encrypted_and_exotic_members_are_refused) {
  RawMember member = stored_member("x.npy", npy_of(matrix));
  member.flags = 1;
  expect_refused({member}, "'x.npy': expected plain data, found it encrypted");
  member.flags = 0;
  member.method = 12;
  expect_refused({member},
                 "'x.npy': expected stored or deflated data, found compression method 12");
}

TEST_F(NpzReaderTest, sizes_that_the_file_cannot_hold_are_refused_before_allocation) {
  RawMember member = deflated_member("x.npy", npy_of(matrix));
  const std::uint32_t compressed = member.compressed_size;
  member.size = 0xfffffff0;
  expect_refused({member},
                 fmt::format("'x.npy': size: expected at most {} bytes from {} compressed, "
                             "found 4294967280",
                             compressed * 1032, compressed));
  member = stored_member("x.npy", npy_of(matrix));
  member.size = 0xfffffff0;
  expect_refused({member}, "'x.npy': size: expected at most 176 bytes from 176 compressed");
  member.compressed_size = 0xfffffff0;
  EXPECT_THROW(read_all(zip_bytes({member})), Error);
}

TEST_F(NpzReaderTest, a_size_that_contradicts_the_header_is_refused) {
  RawMember member = deflated_member("x.npy", npy_of(matrix));
  member.size += 100;
  expect_refused({member}, "'x.npy': data: expected 48 bytes for int32 [4,3], found 148");
}

TEST_F(NpzReaderTest, data_that_ends_early_or_late_is_refused) {
  const std::string npy = npy_of(matrix);
  RawMember early = deflated_member("x.npy", npy.substr(0, npy.size() - 8));
  early.size = static_cast<std::uint32_t>(npy.size());
  EXPECT_THROW(read_all(zip_bytes({early})), Error);
  RawMember late = deflated_member("x.npy", npy + "12345678");
  late.size = static_cast<std::uint32_t>(npy.size());
  EXPECT_THROW(read_all(zip_bytes({late})), Error);
}

TEST_F(NpzReaderTest, a_wrong_checksum_is_refused_when_the_last_row_is_read) {
  for (RawMember member :
       {stored_member("x.npy", npy_of(matrix)), deflated_member("x.npy", npy_of(matrix))}) {
    member.crc ^= 1;
    expect_refused({member}, "'x.npy': expected 176 bytes, found: CRC error");
    NpzArrayStream stream(NpzReader(path_), "x");
    EXPECT_EQ(stream.next(3).size(), 9);
    EXPECT_THROW(stream.next(1), Error);
  }
}

TEST_F(NpzReaderTest, an_archive_cut_off_anywhere_is_refused) {
  const std::string valid =
      zip_bytes({stored_member("x.npy", npy_of(matrix)), deflated_member("y.npy", npy_of(matrix))});
  for (std::size_t size = 0; size < valid.size(); ++size) expect_refused(valid.substr(0, size), "");
}

TEST_F(NpzReaderTest, a_byte_changed_anywhere_gives_an_error_or_tensors) {
  const std::string valid =
      zip_bytes({stored_member("x.npy", npy_of(matrix)), deflated_member("y.npy", npy_of(matrix))});
  for (std::size_t at = 0; at < valid.size(); ++at)
    for (const int flip : {0x01, 0x10, 0x80, 0xff}) {
      std::string damaged = valid;
      damaged[at] = static_cast<char>(damaged[at] ^ flip);
      try {
        read_all(damaged);
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr("a.npz: "), Not(HasSubstr("\n"))));
      }
    }
}

}  // namespace
}  // namespace vernier
