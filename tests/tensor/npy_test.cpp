#include "vernier/tensor/npy.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/temporary_directory.h"
#include "tests/tensor/tensors.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

std::string npy_file(const std::string& header, const std::string& data, int version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(version);
  bytes += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    bytes += static_cast<char>(header.size() >> (8 * i));
  return bytes + header + data;
}

std::string header_of(const std::string& descr, const std::string& shape,
                      const std::string& fortran_order = "False") {
  return fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}\n", descr, fortran_order,
                     shape);
}

Tensor read_bytes(const std::string& bytes) {
  const TemporaryDirectory directory;
  write_text(directory / "x.npy", bytes);
  return read_npy(directory / "x.npy");
}

auto refuses(const std::string& message) {
  return ThrowsMessage<Error>(
      AllOf(HasSubstr("[npy] "), HasSubstr("x.npy: " + message), Not(HasSubstr("\n"))));
}

void expect_refused(const std::string& bytes, const std::string& message) {
  EXPECT_THAT([&] { read_bytes(bytes); }, refuses(message));
}

TEST(Npy, every_dtype_and_rank_is_read_back) {
  const TemporaryDirectory directory;
  for (int i = 0; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (npy_dtype(dtype) != dtype) continue;
    for (const Shape& shape :
         {Shape{}, Shape{1}, Shape{7}, Shape{0}, Shape{2, 0, 3}, Shape{2, 3, 4}}) {
      const Tensor tensor = counting("x", dtype, shape);
      write_npy(directory / "x.npy", tensor);
      EXPECT_EQ(read_npy(directory / "x.npy"), tensor) << dtype_name(dtype) << format_shape(shape);
    }
  }
}

TEST(Npy, types_that_numpy_lacks_are_widened_without_loss) {
  const std::pair<DType, DType> stored[] = {
      {DType::bf16, DType::f32},   {DType::f8e4m3fn, DType::f16},   {DType::f8e4m3fnuz, DType::f16},
      {DType::f8e5m2, DType::f16}, {DType::f8e5m2fnuz, DType::f16}, {DType::i4, DType::i8},
      {DType::u4, DType::u8},
  };
  const TemporaryDirectory directory;
  for (const auto& [dtype, expected] : stored) {
    const std::int64_t patterns = std::int64_t{1} << bits(dtype);
    Tensor tensor = make_tensor("x", dtype, {patterns});
    if (bits(dtype) == 4)
      tensor = convert(counting("x", DType::i8, {patterns}), dtype);
    else
      for (std::int64_t i = 0; i < patterns; ++i)
        std::memcpy(&tensor.bytes[i * bits(dtype) / 8], &i, bits(dtype) / 8);
    write_npy(directory / "x.npy", tensor);
    const Tensor found = read_npy(directory / "x.npy");
    EXPECT_EQ(found.dtype, expected);
    EXPECT_THAT(to_f32(found), testing::Pointwise(testing::NanSensitiveFloatEq(), to_f32(tensor)));
  }
}

TEST(Npy, a_file_is_named_by_its_stem) {
  const TemporaryDirectory directory;
  write_npy(directory / "conv1.weight.npy", counting("other", DType::f32, {1}));
  EXPECT_EQ(read_npy(directory / "conv1.weight.npy").name, "conv1.weight");
}

TEST(Npy, headers_end_at_a_multiple_of_64_bytes) {
  for (std::int64_t size = 1; size < 1000000000000000; size *= 10) {
    const std::string header = npy_header(DType::f32, Shape{size, size, 3});
    EXPECT_EQ(header.size() % 64, 0u);
    EXPECT_EQ(header.back(), '\n');
  }
  EXPECT_EQ(npy_header(DType::f32, Shape{3}, 256).size(), 256u);
}

TEST(Npy, a_header_too_long_for_version_1_is_written_as_version_2) {
  const Tensor tensor = counting("x", DType::u8, Shape(30000, 1));
  const TemporaryDirectory directory;
  write_npy(directory / "x.npy", tensor);
  EXPECT_EQ(read_text(directory / "x.npy")[6], '\2');
  EXPECT_EQ(read_npy(directory / "x.npy"), tensor);
}

TEST(Npy, keys_come_in_any_order_quotes_and_spacing) {
  const Tensor expected = tensor_of<std::uint8_t>(DType::u8, {7, 8});
  EXPECT_EQ(
      read_bytes(npy_file("{\"shape\":(2,),\"fortran_order\":False,\"descr\":\"|u1\"}", "\7\b")),
      expected);
  EXPECT_EQ(read_bytes(npy_file(
                "  { 'shape' : ( 2L , ) ,\n 'descr' : 'u1', 'fortran_order' :True\t}  ", "\7\b")),
            expected);
}

TEST(Npy, versions_2_and_3_have_a_longer_length_field) {
  const Tensor expected = tensor_of<std::uint8_t>(DType::u8, {7, 8});
  for (const int version : {2, 3})
    EXPECT_EQ(read_bytes(npy_file(header_of("'|u1'", "(2,)"), "\7\b", version)), expected);
}

TEST(Npy, big_endian_elements_are_swapped) {
  EXPECT_EQ(read_bytes(npy_file(header_of("'>i2'", "(2,)"), std::string("\0\1\2\3", 4))),
            tensor_of<std::int16_t>(DType::i16, {1, 0x203}));
  EXPECT_EQ(
      read_bytes(npy_file(header_of("'>f8'", "(1,)"), std::string("\x3f\xf0\0\0\0\0\0\0", 8))),
      tensor_of<double>(DType::f64, {1.0}));
  EXPECT_EQ(read_bytes(npy_file(header_of("'=i2'", "(1,)"), std::string("\1\0", 2))),
            tensor_of<std::int16_t>(DType::i16, {1}));
}

TEST(Npy, fortran_order_becomes_c_order) {
  const Tensor matrix = read_bytes(npy_file(header_of("'|u1'", "(2, 3)", "True"), "\1\4\2\5\3\6"));
  EXPECT_EQ(matrix, counting("x", DType::u8, {2, 3}, 1));
  std::string cube;
  for (int k = 0; k < 4; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 2; ++i) cube += std::string{'\0', static_cast<char>((i * 3 + j) * 4 + k)};
  EXPECT_EQ(read_bytes(npy_file(header_of("'>u2'", "(2, 3, 4)", "True"), cube)),
            counting("x", DType::u16, {2, 3, 4}));
  for (const std::string code : {"i4", "f8"})
    EXPECT_THAT(to_f64(read_bytes(npy_file(header_of("'<" + code + "'", "(2, 1, 2)", "True"),
                                           std::string(code == "i4" ? 16 : 32, '\0')))),
                ElementsAre(0, 0, 0, 0));
}

TEST(Npy, an_empty_fortran_array_may_have_huge_dimensions) {
  const std::string header = header_of("'<f4'", "(1000000000000, 1000000000000, 0)", "True");
  EXPECT_EQ(read_bytes(npy_file(header, "")).size(), 0);
}

TEST(NpyErrors, a_missing_file_or_a_directory_is_named) {
  const TemporaryDirectory directory;
  EXPECT_THAT([&] { read_npy(directory / "x.npy"); }, refuses("no such file or folder"));
  std::filesystem::create_directory(directory / "x.npy");
  EXPECT_THAT([&] { read_npy(directory / "x.npy"); }, refuses("is a folder, not a file"));
}

TEST(NpyErrors, what_is_no_npy_file_is_named) {
  expect_refused("", "magic: expected 8 bytes, found 0 to the end");
  expect_refused("PK\3\4 this is a zip",
                 "magic: expected \"\\x93NUMPY\", found \"PK\\x03\\x04 t\"");
  expect_refused(npy_file("{}", "", 4), "version: expected 1.0, 2.0 or 3.0, found 4.0");
}

TEST(NpyErrors, a_header_length_past_the_end_is_named) {
  std::string bytes = npy_file(header_of("'<f4'", "(1,)"), "1234");
  bytes[9] = '\x7f';
  expect_refused(bytes, "header: expected 32570 bytes, found 62 to the end");
  expect_refused(std::string("\x93NUMPY\2\0\0\0\0\x10", 12) + "{}",
                 "header length: expected at most 1048576 bytes, found 268435456");
}

TEST(NpyErrors, a_shape_beyond_the_file_is_named_before_anything_is_allocated) {
  expect_refused(npy_file(header_of("'<f4'", "(1073741824,)"), "1234"),
                 "data: expected 4294967296 bytes for float32 [1073741824], found 4");
  expect_refused(npy_file(header_of("'<f8'", "(4294967296, 4294967296)"), ""),
                 "shape: expected a size that fits the file, found [4294967296,4294967296]");
  expect_refused(npy_file(header_of("'<f8'", "(9223372036854775807,)"), ""), "shape: expected");
  expect_refused(npy_file(header_of("'<f8'", "(99999999999999999999,)"), ""),
                 "header: expected an integer of at most 64 bits");
  expect_refused(npy_file(header_of("'<f4'", "(2,)"), "1234"),
                 "data: expected 8 bytes for float32 [2], found 4");
}

TEST(NpyErrors, bytes_after_the_elements_are_named) {
  expect_refused(npy_file(header_of("'<f4'", "(1,)"), "12345"),
                 "data: expected 4 bytes for float32 [1], found 5");
}

TEST(NpyErrors, types_that_are_not_plain_numbers_are_refused_by_name) {
  const std::pair<std::string, std::string> refused[] = {
      {"|O", "objects, which would need pickle"},
      {"|S5", "byte strings"},
      {"<U7", "strings"},
      {"|V2", "raw or structured data"},
      {"<c8", "complex numbers"},
      {"<M8[ns]", "dates"},
      {"<m8[s]", "time differences"},
      {"<f16", "an unknown type"},
      {"", "an unknown type"},
      {"<", "an unknown type"},
  };
  for (const auto& [descr, reason] : refused)
    expect_refused(
        npy_file(header_of("'" + descr + "'", "(1,)"), "1234"),
        fmt::format("descr: expected a float, integer or bool type, found \"{}\" ({}); save "
                    "the array in another dtype",
                    descr, reason));
  expect_refused(
      npy_file(header_of("[('größe', '<f4')]", "(1,)"), "1234", 3),
      "descr: expected the name of a number type, found \"{'descr': [('größe', '<f4')], ");
}

TEST(NpyErrors, a_dictionary_without_its_three_keys_is_named) {
  expect_refused(
      npy_file("{'descr': '<f4', 'shape': (1,)}", "1234"),
      "header: expected a dictionary of descr, fortran_order and shape, found \"{'descr'");
  expect_refused(npy_file("{'descr': '<f4', 'shape': (1,), 'order': 'F'}", "1234"),
                 "header: expected the key 'fortran_order', found \"{'descr'");
  expect_refused(npy_file("[1, 2, 3]", ""), "header: expected a dictionary");
  expect_refused(npy_file("{'descr': '<f4'", ""), "header: expected ',' at byte 15, found the end");
}

TEST(NpyErrors, values_of_another_kind_are_named) {
  expect_refused(npy_file(header_of("'<f4'", "(1)"), "1234"), "shape: expected a tuple");
  expect_refused(npy_file(header_of("'<f4'", "(-1,)"), "1234"),
                 "shape: expected sizes of at least 0");
  expect_refused(npy_file(header_of("'<f4'", "('a',)"), "1234"),
                 "shape: expected sizes of at least 0");
  expect_refused(npy_file(header_of("'<f4'", "(True,)"), "1234"),
                 "shape: expected sizes of at least 0");
  expect_refused(npy_file(header_of("'<f4'", "(1,)", "0"), "1234"),
                 "fortran_order: expected True or False");
  expect_refused(npy_file(header_of("4", "(1,)"), "1234"),
                 "descr: expected the name of a number type");
}

Tensor read_from_memory(std::string_view bytes) {
  std::size_t at = 0;
  const ByteReader read = [&](std::span<std::byte> out) {
    if (out.size() > bytes.size() - at) throw Error("read past the end");
    std::memcpy(out.data(), bytes.data() + at, out.size());
    at += out.size();
  };
  return read_npy_data(read, read_npy_header(read, std::ssize(bytes), "x.npy"), "x");
}

TEST(NpyErrors, a_file_cut_off_anywhere_gives_an_error) {
  const std::string valid = npy_file(header_of("'<i2'", "(2, 3)"), "abcdefghijkl");
  EXPECT_EQ(read_from_memory(valid).size(), 6);
  for (std::size_t size = 0; size < valid.size(); ++size)
    EXPECT_THAT([&] { read_from_memory(valid.substr(0, size)); }, refuses("")) << size;
}

TEST(NpyErrors, a_byte_changed_anywhere_gives_an_error_or_a_tensor) {
  const std::string valid = npy_file(header_of("'<i2'", "(2, 3)"), "abcdefghijkl");
  for (std::size_t at = 0; at < valid.size(); ++at)
    for (int byte = 0; byte < 256; ++byte) {
      std::string damaged = valid;
      damaged[at] = static_cast<char>(byte);
      try {
        const Tensor tensor = read_from_memory(damaged);
        EXPECT_EQ(byte_size(tensor.dtype, tensor.size()), std::ssize(tensor.bytes));
      } catch (const Error& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr("x.npy: "), Not(HasSubstr("\n"))));
      }
    }
}

TEST(NpyErrors, a_file_that_cannot_be_written_is_named_and_leaves_nothing) {
  const TemporaryDirectory directory;
  EXPECT_THAT([&] { write_npy(directory / "none" / "x.npy", counting("x", DType::f32, {1})); },
              ThrowsMessage<Error>(HasSubstr("none/x.npy: cannot create: No such file")));
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

}  // namespace
}  // namespace vernier
