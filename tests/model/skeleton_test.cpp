#include "vernier/model/skeleton.h"

#include <gtest/gtest.h>

#include "tests/model/read_tensor.h"
#include "tests/model_builder.h"
#include "vernier/error.h"

namespace vernier {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string serialized() {
  GraphBuilder builder;
  builder.weight(make_tensor("first", DType::f32, {100}))
      .weight(make_tensor("tiny", DType::f32, {1}));
  builder.weight(tensor_of<float>("last", DType::f32, {200}, std::vector<float>(200, 3.f)));
  builder.input("x", DType::f32, {}).node("Identity", {"x"}, {"y"}).output("y", DType::f32, {});
  return builder.proto().SerializeAsString();
}

TEST(Skeleton, has_the_model_without_its_large_weights) {
  const std::string whole = serialized();
  const auto light = skeleton(bytes_of(whole), "m.onnx", 64);
  ASSERT_TRUE(light);
  EXPECT_LT(light->size(), 500u);
  vernier_onnx::ModelProto proto;
  ASSERT_TRUE(proto.ParseFromString(*light));
  const auto& last = proto.graph().initializer(2);
  EXPECT_FALSE(last.has_raw_data());
  EXPECT_EQ(read_tensor(last, bytes_of(whole)),
            tensor_of<float>("last", DType::f32, {200}, std::vector<float>(200, 3.f)));
  EXPECT_TRUE(proto.graph().initializer(1).has_raw_data());
}

TEST(Skeleton, with_its_weights_is_the_model_again) {
  const std::string whole = serialized();
  for (const std::size_t threshold : {0, 64, 500, 100000}) {
    const std::string light = *skeleton(bytes_of(whole), "m.onnx", threshold);
    const Rope rope = with_weights(bytes_of(light), "m.onnx", bytes_of(whole));
    vernier_onnx::ModelProto original, restored;
    ASSERT_TRUE(original.ParseFromString(whole));
    ASSERT_TRUE(restored.ParseFromString(flatten(rope)));
    EXPECT_EQ(rope.size(), flatten(rope).size());
    EXPECT_EQ(restored.SerializeAsString(), original.SerializeAsString());
  }
}

TEST(Skeleton, a_default_location_that_is_written_out_gives_way_to_the_reference) {
  vernier_onnx::ModelProto proto;
  auto& weight = *proto.mutable_graph()->add_initializer();
  weight = make_tensor_proto(tensor_of<float>("w", DType::f32, {50}, std::vector<float>(50, 2.f)));
  weight.set_data_location(vernier_onnx::TensorProto::DEFAULT);
  const std::string whole = proto.SerializeAsString();
  vernier_onnx::ModelProto light;
  ASSERT_TRUE(light.ParseFromString(*skeleton(bytes_of(whole), "m.onnx", 64)));
  EXPECT_EQ(light.graph().initializer(0).data_location(), vernier_onnx::TensorProto::EXTERNAL);
  EXPECT_EQ(read_tensor(light.graph().initializer(0), bytes_of(whole)),
            tensor_of<float>("w", DType::f32, {50}, std::vector<float>(50, 2.f)));
}

TEST(Skeleton, external_data_of_other_files_is_left_alone) {
  vernier_onnx::ModelProto proto;
  auto& weight = *proto.mutable_graph()->add_initializer();
  weight.set_name("w");
  set_external_data(weight, {"other.data", 0, 4});
  const std::string bytes = proto.SerializeAsString();
  EXPECT_EQ(flatten(with_weights(bytes_of(bytes), "m.onnx", {})), bytes);
}

TEST(Skeleton, a_weight_that_its_file_does_not_hold_is_an_error) {
  const std::string whole = serialized();
  const std::string light = *skeleton(bytes_of(whole), "m.onnx", 64);
  EXPECT_THROW(with_weights(bytes_of(light), "m.onnx", bytes_of(whole).first(100)), Error);
}

TEST(Skeleton, of_what_is_no_message_is_nothing) {
  for (const std::string& text :
       {std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
        std::string("\x3a\x7f\x01"), std::string("\x0b"), std::string("\x39\x01")})
    EXPECT_FALSE(skeleton(bytes_of(text), "m.onnx"));
}

}  // namespace
}  // namespace vernier
