#include "vernier/model/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <vernier_onnx.pb.h>

#include <fstream>

#include "tests/arrays.h"
#include "tests/fixture.h"
#include "tests/model_builder.h"
#include "tests/temporary_directory.h"
#include "vernier/error.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string error_of_loading(const fs::path& path) {
  try {
    Model::load(path);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// One weight of 16 kB, which load() leaves in the file, and one of 8 bytes.
GraphBuilder with_weights() {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{4096}}).output("y", DType::f32, {{4096}});
  builder.weight(ramp("large", {4096})).weight(ramp("small", {1}));
  builder.node("Add", {"x", "large"}, {"a"}).node("Mul", {"a", "small"}, {"y"});
  return builder;
}

TEST(Model, says_what_is_fed_and_what_comes_out) {
  const Model model = Model::load(fixture("mnist/mnist_cnn.onnx"));
  EXPECT_THAT(model.inputs(),
              ElementsAre(TensorSpec{"input", DType::f32, {{-1, "batch"}, {1}, {28}, {28}}}));
  EXPECT_THAT(model.outputs(),
              ElementsAre(TensorSpec{"logits", DType::f32, {{-1, "batch"}, {10}}}));
  EXPECT_EQ(model.opset(), 16);
  EXPECT_EQ(model.opset("ai.onnx"), 16);
  EXPECT_EQ(model.opset("com.microsoft"), 0);
}

TEST(Model, inputs_with_a_weight_are_not_fed) {
  GraphBuilder builder = with_weights();
  builder.input("small", DType::f32, {{1}});
  EXPECT_EQ(builder.model(7, 3).inputs().size(), 1u);
}

TEST(Model, inputs_and_outputs_that_are_no_tensors_are_kept_apart) {
  GraphBuilder builder = with_weights();
  auto& sequence = *builder.graph().add_input();
  sequence.set_name("s");
  sequence.mutable_type()->mutable_sequence_type();
  auto& text = *builder.graph().add_output();
  text.set_name("t");
  text.mutable_type()->mutable_tensor_type()->set_elem_type(8);
  const Model model = builder.model();
  EXPECT_EQ(model.inputs().size(), 1u);
  EXPECT_THAT(model.other_inputs(), ElementsAre(OtherValue{"s", "sequence"}));
  EXPECT_THAT(model.other_outputs(), ElementsAre(OtherValue{"t", "string"}));
}

TEST(Model, large_weights_stay_in_the_file_and_are_read_from_it) {
  const TemporaryDirectory scratch;
  with_weights().model().save(scratch / "m.onnx");
  const Model model = Model::load(scratch / "m.onnx");
  const auto& large = model.graph().initializer(0);
  EXPECT_TRUE(model.is_inside(large));
  EXPECT_FALSE(large.has_raw_data());
  EXPECT_EQ(model.weight_bytes(), 4 * (4096 + 1));
  EXPECT_FALSE(model.is_inside(model.graph().initializer(1)));
  EXPECT_EQ(model.tensor(large), ramp("large", {4096}));
  EXPECT_EQ(model.tensor(model.graph().initializer(1)), ramp("small", {1}));
}

TEST(Model, weights_are_read_after_the_file_was_replaced) {
  const TemporaryDirectory scratch;
  with_weights().model().save(scratch / "m.onnx");
  const Model model = Model::load(scratch / "m.onnx");
  GraphBuilder other;
  other.input("x", DType::f32, {{1}})
      .output("x", DType::f32, {{1}})
      .model()
      .save(scratch / "m.onnx");
  EXPECT_EQ(model.tensor(model.graph().initializer(0)), ramp("large", {4096}));
}

TEST(Model, what_is_saved_is_what_was_loaded) {
  const TemporaryDirectory scratch;
  for (const std::string name :
       {"mnist/mnist_cnn.onnx", "mnist/mnist_vit.onnx", "mnist/mnist_cnn.int8.onnx"}) {
    const Model model = Model::load(fixture(name));
    model.save(scratch / "copy.onnx");
    vernier_onnx::ModelProto original, saved;
    ASSERT_TRUE(original.ParseFromString(read_file(fixture(name))));
    ASSERT_TRUE(saved.ParseFromString(read_file(scratch / "copy.onnx")));
    EXPECT_EQ(saved.SerializeAsString(), original.SerializeAsString()) << name;
    EXPECT_EQ(model.serialize(), read_file(scratch / "copy.onnx")) << name;
  }
}

TEST(Model, a_model_can_be_saved_over_itself) {
  const TemporaryDirectory scratch;
  with_weights().model().save(scratch / "m.onnx");
  Model model = Model::load(scratch / "m.onnx");
  model.graph().set_name("renamed");
  model.save(scratch / "m.onnx");
  const Model again = Model::load(scratch / "m.onnx");
  EXPECT_EQ(again.graph().name(), "renamed");
  EXPECT_EQ(again.tensor(again.graph().initializer(0)), ramp("large", {4096}));
}

TEST(Model, fields_that_are_not_known_survive) {
  const TemporaryDirectory scratch;
  std::string bytes = with_weights().model().serialize();
  bytes += "\xaa\x7d\x03new";  // field 2005 of the model, three bytes
  std::ofstream(scratch / "m.onnx", std::ios::binary) << bytes;
  Model::load(scratch / "m.onnx").save(scratch / "n.onnx");
  EXPECT_THAT(read_file(scratch / "n.onnx"), HasSubstr("\xaa\x7d\x03new"));
}

class IrVersion : public testing::TestWithParam<int> {};

TEST_P(IrVersion, loads) {
  const TemporaryDirectory scratch;
  std::ofstream(scratch / "m.onnx", std::ios::binary)
      << with_weights().proto(7, GetParam()).SerializeAsString();
  EXPECT_EQ(Model::load(scratch / "m.onnx").proto().ir_version(), GetParam());
}

INSTANTIATE_TEST_SUITE_P(Model, IrVersion, testing::Range(3, 13));

Model with_external_data(const TemporaryDirectory& scratch, const std::string& name = "m.onnx") {
  const std::string data = name + ".weights";
  const Tensor large = ramp("large", {4096});
  std::ofstream(scratch / data, std::ios::binary)
      .write(reinterpret_cast<const char*>(large.bytes.data()), std::ssize(large.bytes));
  auto proto = with_weights().proto();
  set_external_data(*proto.mutable_graph()->mutable_initializer(0), {data, 0, 16384});
  std::ofstream(scratch / name, std::ios::binary) << proto.SerializeAsString();
  return Model::load(scratch / name);
}

TEST(Model, external_data_stays_when_the_folder_does) {
  const TemporaryDirectory scratch;
  const Model model = with_external_data(scratch);
  model.save(scratch / "other.onnx");
  const Model again = Model::load(scratch / "other.onnx");
  EXPECT_EQ(external_data(again.graph().initializer(0)).location, "m.onnx.weights");
  EXPECT_FALSE(fs::exists(scratch / "other.onnx.data"));
  EXPECT_EQ(again.tensor(again.graph().initializer(0)), ramp("large", {4096}));
}

TEST(Model, external_data_moves_along_to_another_folder) {
  const TemporaryDirectory scratch;
  const Model model = with_external_data(scratch);
  fs::create_directory(scratch / "elsewhere");
  model.save(scratch / "elsewhere/m.onnx");
  const Model again = Model::load(scratch / "elsewhere/m.onnx");
  EXPECT_EQ(external_data(again.graph().initializer(0)), (ExternalData{"m.onnx.data", 0, 16384}));
  EXPECT_EQ(again.tensor(again.graph().initializer(0)), ramp("large", {4096}));
  EXPECT_EQ(again.tensor(again.graph().initializer(1)), ramp("small", {1}));
}

TEST(Model, a_weight_moved_into_a_constant_is_saved_with_its_elements) {
  const TemporaryDirectory scratch;
  with_weights().model().save(scratch / "m.onnx");
  Model model = Model::load(scratch / "m.onnx");
  auto& constant = *model.graph().add_node();
  constant.set_op_type("Constant");
  constant.add_output("c");
  auto& value = *constant.add_attribute();
  value.set_name("value");
  value.set_type(vernier_onnx::AttributeProto::TENSOR);
  *value.mutable_t() = model.graph().initializer(0);
  model.save(scratch / "n.onnx");
  const Model again = Model::load(scratch / "n.onnx");
  EXPECT_EQ(again.tensor(again.graph().node(2).attribute(0).t()), ramp("large", {4096}));
}

TEST(Model, a_save_that_fails_leaves_nothing_behind) {
  const TemporaryDirectory scratch;
  const Model model = with_external_data(scratch);
  fs::remove(scratch / "m.onnx.weights");
  fs::create_directory(scratch / "elsewhere");
  EXPECT_THROW(model.save(scratch / "elsewhere/m.onnx"), Error);
  EXPECT_TRUE(fs::is_empty(scratch / "elsewhere"));
  EXPECT_THROW(model.save(scratch / "absent/m.onnx"), Error);
}

// Two weights of 1.5 GB each, in a sparse file: nothing may be copied.
TEST(Model, over_two_gigabytes_of_external_data_load_and_stay) {
  const TemporaryDirectory scratch;
  constexpr std::int64_t count = std::int64_t{3} << 27;
  std::ofstream(scratch / "big.data").put('\0');
  fs::resize_file(scratch / "big.data", count * 8);
  auto proto = with_weights().proto();
  for (int i = 0; i < 2; ++i) {
    auto& weight = *proto.mutable_graph()->mutable_initializer(i);
    weight.set_dims(0, count);
    set_external_data(weight, {"big.data", i * count * 4, count * 4});
  }
  std::ofstream(scratch / "m.onnx", std::ios::binary) << proto.SerializeAsString();
  const Model model = Model::load(scratch / "m.onnx");
  model.save(scratch / "n.onnx");
  EXPECT_LT(fs::file_size(scratch / "n.onnx"), 1000u);
  EXPECT_EQ(external_data(Model::load(scratch / "n.onnx").graph().initializer(1)).offset,
            count * 4);
}

TEST(Model, files_that_are_no_models_give_one_line) {
  const TemporaryDirectory scratch;
  const auto write = [&](const std::string& bytes) {
    std::ofstream(scratch / "m.onnx", std::ios::binary) << bytes;
    return error_of_loading(scratch / "m.onnx");
  };
  const std::string whole = with_weights().model().serialize();
  for (const std::string& bytes :
       {std::string(), std::string("not a model at all"), whole.substr(0, 1000),
        whole.substr(0, whole.size() / 2), std::string("\x08\x08", 2)})
    EXPECT_THAT(write(bytes),
                HasSubstr("m.onnx: expected an ONNX model, found a file that is damaged"));
  EXPECT_THAT(error_of_loading(scratch / "absent.onnx"), HasSubstr("no such file or folder"));
  EXPECT_THAT(error_of_loading(scratch.path()), HasSubstr("cannot open: not a file"));
}

TEST(Model, every_truncation_is_an_error_or_a_model_and_never_a_crash) {
  const TemporaryDirectory scratch;
  const std::string whole = read_file(fixture("mnist/mnist_cnn.int8.onnx"));
  for (std::size_t size = 0; size < whole.size(); size += 97) {
    std::ofstream(scratch / "m.onnx", std::ios::binary) << whole.substr(0, size);
    error_of_loading(scratch / "m.onnx");
  }
}

}  // namespace
}  // namespace vernier
