#include "vernier/exporting/sidecar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "tests/temporary_directory.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class SidecarTest : public testing::Test {
 protected:
  std::optional<Sidecar> read(const std::string& text) {
    std::ofstream(folder_ / "model.json") << text;
    return read_sidecar(folder_ / "model.pt");
  }

  TemporaryDirectory folder_;
};

TEST_F(SidecarTest, it_gives_names_dtypes_and_shapes) {
  const auto sidecar = read(R"({"task": "image-classification",
      "inputs": [{"name": "x", "dtype": "int64", "shape": ["batch", 16, null]}],
      "outputs": [{"name": "y"}]})");
  const Sidecar expected{
      .inputs = {{.name = "x", .dtype = DType::i64, .shape = {{-1, "batch"}, {16, ""}, {-1, ""}}}},
      .outputs = {{.name = "y", .ranked = false}},
      .task = "image-classification"};
  EXPECT_EQ(sidecar, expected);
}

TEST_F(SidecarTest, a_model_without_one_has_none) {
  EXPECT_EQ(read_sidecar(folder_ / "other.pt"), std::nullopt);
}

TEST_F(SidecarTest, a_file_of_another_kind_is_passed_over) {
  EXPECT_EQ(read(R"({"architectures": ["X"]})"), std::nullopt);
  EXPECT_EQ(read("[1, 2]"), std::nullopt);
}

TEST_F(SidecarTest, what_is_wrong_is_named) {
  const auto wrong = [&](const std::string& text, const std::string& part) {
    EXPECT_THAT([&] { read(text); }, ThrowsMessage<Error>(HasSubstr(part))) << text;
  };
  wrong("{", "is not JSON");
  wrong(R"({"inputs": 1})", "'inputs' is not a list");
  wrong(R"({"inputs": ["x"]})", "expected an object with a name");
  wrong(R"({"inputs": [{"name": "x", "dtype": "float33"}]})", "'x' has dtype");
  wrong(R"({"inputs": [{"name": "x", "dtype": 1}]})", "'x' has dtype");
  wrong(R"({"inputs": [{"name": "x", "shape": 3}]})", "'x' has no list as shape");
  wrong(R"({"inputs": [{"name": "x", "shape": [-3]}]})", "a dimension is a size");
}

TEST_F(SidecarTest, an_export_without_a_trace_names_its_reference) {
  const auto sidecar =
      read(R"({"inputs": [], "reference": {"source": "hf:x", "weights": "w.pth", "seed": 7}})");
  EXPECT_EQ(sidecar->reference,
            (SidecarReference{.source = "hf:x", .weights = "w.pth", .seed = 7}));
}

TEST_F(SidecarTest, tensors_are_known_to_a_graph_that_was_optimised_after_the_export) {
  read(
      R"({"inputs": [], "tensors": [{"name": "getitem", "module": "bn1", "source": "net.py:7"}]})");
  const std::vector<SidecarTensor> expected = {{"getitem", "bn1", "net.py:7"}};
  EXPECT_EQ(exported_tensors(folder_ / "model.onnx"), expected);
  EXPECT_EQ(exported_tensors(folder_ / "simplified.onnx"), expected);
  std::ofstream(folder_ / "model.json") << R"({"inputs": []})";
  EXPECT_TRUE(exported_tensors(folder_ / "simplified.onnx").empty());
}

}  // namespace
}  // namespace vernier
