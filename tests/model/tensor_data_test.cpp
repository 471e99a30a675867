#include "vernier/model/tensor_data.h"

#include <gtest/gtest.h>
#include <vernier_onnx.pb.h>

#include <filesystem>
#include <fstream>

#include "tests/model/read_tensor.h"
#include "tests/model_builder.h"
#include "tests/temporary_directory.h"
#include "vernier/error.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

// A model's folder, and a file beside it that the model must not reach.
class ExternalDataTest : public testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_ / "sub");
    write(folder_ / "weights.bin");
    write(folder_ / "sub" / "weights.bin");
    write(root_ / "outside.bin");
  }

  static void write(const fs::path& path) {
    const float values[] = {1, 2, 3, 4};
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(values), 16);
  }
  static TensorProto weight(const ExternalData& data, std::int64_t count = 2) {
    TensorProto proto;
    proto.set_name("w");
    proto.set_data_type(TensorProto::FLOAT);
    proto.add_dims(count);
    set_external_data(proto, data);
    return proto;
  }
  std::string error_of(const TensorProto& proto) const {
    try {
      read_tensor(proto, folder_);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  TemporaryDirectory root_;
  fs::path folder_ = root_ / "model";
};

TEST_F(ExternalDataTest, is_read_at_its_offset) {
  const Tensor tensor = read_tensor(weight({"weights.bin", 4, 8}), folder_);
  EXPECT_EQ(tensor, tensor_of<float>("w", DType::f32, {2}, {2, 3}));
  EXPECT_EQ(read_tensor(weight({"sub/weights.bin", 8, 8}), folder_).size(), 2);
}

TEST_F(ExternalDataTest, offset_and_length_may_be_absent) {
  TensorProto proto = weight({"weights.bin"}, 4);
  proto.mutable_external_data()->DeleteSubrange(1, 2);
  EXPECT_EQ(read_tensor(proto, folder_), tensor_of<float>("w", DType::f32, {4}, {1, 2, 3, 4}));
}

TEST_F(ExternalDataTest, a_link_inside_the_folder_is_followed) {
  fs::create_symlink("weights.bin", folder_ / "link.bin");
  EXPECT_EQ(read_tensor(weight({"link.bin", 0, 8}), folder_).size(), 2);
}

TEST_F(ExternalDataTest, outside_the_folder_is_refused) {
  fs::create_symlink(root_ / "outside.bin", folder_ / "leaving.bin");
  fs::create_directory_symlink(root_.path(), folder_ / "leaving");
  for (const std::string& location :
       {(root_ / "outside.bin").string(), std::string("../outside.bin"),
        std::string("sub/../../outside.bin"), std::string("leaving.bin"),
        std::string("leaving/outside.bin"), std::string()})
    EXPECT_NE(error_of(weight({location, 0, 8})).find("expected a file in the model's folder"),
              std::string::npos)
        << location;
}

TEST_F(ExternalDataTest, a_missing_file_a_folder_or_a_short_one_is_an_error) {
  EXPECT_NE(error_of(weight({"absent.bin", 0, 8})).find("found no such file"), std::string::npos);
  EXPECT_NE(error_of(weight({"sub", 0, 8})).find("found no such file"), std::string::npos);
  EXPECT_EQ(error_of(weight({"weights.bin", 12, 8})),
            "[model] tensor 'w': needs 8 bytes from byte 12 of 'weights.bin', which has 16");
  EXPECT_EQ(error_of(weight({"weights.bin", 0, 12})),
            "[model] tensor 'w': float32[2] takes 8 bytes, found 12");
}

TEST_F(ExternalDataTest, sizes_that_overflow_are_errors_before_anything_is_read) {
  TensorProto huge = weight({"weights.bin", 0, 8}, std::int64_t{1} << 62);
  EXPECT_FALSE(error_of(huge).empty());
  EXPECT_FALSE(error_of(weight({"weights.bin", std::int64_t{1} << 62, 8})).empty());
  TensorProto text = weight({"weights.bin"});
  text.mutable_external_data(1)->set_value("12x");
  EXPECT_NE(error_of(text).find("offset or length '12x'"), std::string::npos);
  text.mutable_external_data(1)->set_value("-4");
  EXPECT_NE(error_of(text).find("'-4'"), std::string::npos);
}

TEST(TensorData, typed_fields_hold_what_they_hold) {
  TensorProto proto;
  proto.set_name("t");
  proto.add_dims(2);
  const auto read = [&](DType dtype) {
    proto.set_data_type(onnx_data_type(dtype));
    return read_tensor(proto, std::filesystem::path());
  };
  proto.add_float_data(1.5f);
  proto.add_float_data(-2);
  EXPECT_EQ(read(DType::f32), tensor_of<float>("t", DType::f32, {2}, {1.5f, -2}));
  proto.add_double_data(1e300);
  proto.add_double_data(0);
  EXPECT_EQ(read(DType::f64), tensor_of<double>("t", DType::f64, {2}, {1e300, 0}));
  proto.add_int64_data(-1);
  proto.add_int64_data(std::int64_t{1} << 40);
  EXPECT_EQ(read(DType::i64),
            tensor_of<std::int64_t>("t", DType::i64, {2}, {-1, std::int64_t{1} << 40}));
  proto.add_uint64_data(7);
  proto.add_uint64_data(4294967295u);
  EXPECT_EQ(read(DType::u32), tensor_of<std::uint32_t>("t", DType::u32, {2}, {7, 4294967295u}));
  EXPECT_EQ(read(DType::u64), tensor_of<std::uint64_t>("t", DType::u64, {2}, {7, 4294967295u}));
}

TEST(TensorData, int32_data_holds_all_small_types) {
  TensorProto proto;
  proto.set_name("t");
  proto.add_dims(2);
  const auto read = [&](DType dtype, std::int32_t first, std::int32_t second) {
    proto.set_data_type(onnx_data_type(dtype));
    proto.clear_int32_data();
    proto.add_int32_data(first);
    proto.add_int32_data(second);
    return read_tensor(proto, std::filesystem::path());
  };
  EXPECT_EQ(read(DType::i32, -5, 6), tensor_of<std::int32_t>("t", DType::i32, {2}, {-5, 6}));
  EXPECT_EQ(read(DType::i16, -5, 6), tensor_of<std::int16_t>("t", DType::i16, {2}, {-5, 6}));
  EXPECT_EQ(read(DType::u16, 65535, 6), tensor_of<std::uint16_t>("t", DType::u16, {2}, {65535, 6}));
  EXPECT_EQ(read(DType::i8, -5, 6), tensor_of<std::int8_t>("t", DType::i8, {2}, {-5, 6}));
  EXPECT_EQ(read(DType::u8, 255, 6), tensor_of<std::uint8_t>("t", DType::u8, {2}, {255, 6}));
  EXPECT_EQ(read(DType::boolean, 1, 0), tensor_of<bool>("t", DType::boolean, {2}, {true, false}));
  EXPECT_EQ(read(DType::f16, 0x3c00, 0xc000),
            tensor_of<std::uint16_t>("t", DType::f16, {2}, {0x3c00, 0xc000}));
  EXPECT_EQ(read(DType::bf16, 0x3f80, 0),
            tensor_of<std::uint16_t>("t", DType::bf16, {2}, {0x3f80, 0}));
  EXPECT_EQ(read(DType::f8e5m2, 0x3c, 0xbc),
            tensor_of<std::uint8_t>("t", DType::f8e5m2, {2}, {0x3c, 0xbc}));
}

TEST(TensorData, four_bit_elements_come_packed_in_either_field) {
  TensorProto proto;
  proto.set_name("t");
  proto.add_dims(3);
  proto.set_data_type(TensorProto::INT4);
  proto.add_int32_data(0x21);
  proto.add_int32_data(0x0f);
  const Tensor expected = tensor_of<std::uint8_t>("t", DType::i4, {3}, {0x21, 0x0f});
  EXPECT_EQ(read_tensor(proto, std::filesystem::path()), expected);
  proto.clear_int32_data();
  proto.set_raw_data("\x21\x0f");
  EXPECT_EQ(read_tensor(proto, std::filesystem::path()), expected);
}

TEST(TensorData, a_tensor_survives_the_way_through_a_proto) {
  for (int i = 0; i < dtype_count; ++i) {
    Tensor tensor = make_tensor("t", static_cast<DType>(i), {2, 3});
    tensor.bytes[0] = std::byte{5};
    EXPECT_EQ(read_tensor(make_tensor_proto(tensor), std::filesystem::path()), tensor);
  }
}

TEST(TensorData, elements_that_do_not_fill_the_shape_are_an_error) {
  TensorProto proto = make_tensor_proto(make_tensor("t", DType::f32, {2}));
  proto.set_dims(0, 3);
  EXPECT_THROW(read_tensor(proto, std::filesystem::path()), Error);
  proto.set_dims(0, -1);
  EXPECT_THROW(read_tensor(proto, std::filesystem::path()), Error);
  proto.clear_raw_data();
  proto.set_dims(0, 1);
  EXPECT_THROW(read_tensor(proto, std::filesystem::path()), Error);
}

TEST(TensorData, strings_are_no_numbers) {
  TensorProto proto;
  proto.set_name("t");
  proto.set_data_type(TensorProto::STRING);
  proto.add_string_data("a");
  try {
    read_tensor(proto, std::filesystem::path());
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "[model] tensor 't': elements of string cannot be read as numbers");
  }
}

}  // namespace
}  // namespace vernier
