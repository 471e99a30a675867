// What a result depends on, and what not: for models whose sums are exact in float32, so that no
// order of additions rounds, threads, checkpoints, parts, probes and supervision change no byte.
#include <gtest/gtest.h>

#include <random>

#include "tests/cli/run.h"
#include "tests/model_builder.h"
#include "tests/temporary_directory.h"
#include "vernier/tensor/npz.h"

namespace vernier {
namespace {

using testing::CompletedProcess;
using testing::read_text;
using testing::run_program;
using testing::run_vernier;

using Arguments = std::vector<std::string>;

constexpr std::int64_t samples = 12, features = 64, hidden = 96, classes = 10;

// Integers from -most to most.
Tensor integers(const std::string& name, Shape shape, int most, unsigned seed) {
  std::mt19937 random(seed);
  Tensor tensor = make_tensor(name, DType::f32, std::move(shape));
  for (float& value : elements<float>(tensor))
    value = static_cast<float>(static_cast<int>(random() % (2 * most + 1)) - most);
  return tensor;
}

// Two layers of integer weights; quantized with scales that are powers of two: every product and
// sum is a multiple of a power of two, and far from the largest that float32 holds exactly.
Model two_layers(bool quantized) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{1}, {features}});
  builder.weight(integers("w1", {features, hidden}, 2, 1));
  builder.weight(integers("w2", {hidden, classes}, 2, 2));
  builder.weight(tensor_of<float>("s", DType::f32, {}, {4}));
  builder.weight(tensor_of<std::uint8_t>("z", DType::u8, {}, {0}));
  builder.node("MatMul", {"x", "w1"}, {"a"}).node("Relu", {"a"}, {"r"});
  if (quantized)
    builder.node("QuantizeLinear", {"r", "s", "z"}, {"q"})
        .node("DequantizeLinear", {"q", "s", "z"}, {"d"});
  builder.node("MatMul", {quantized ? "d" : "r", "w2"}, {"y"});
  builder.output("y", DType::f32, {{1}, {classes}});
  return builder.model();
}

class SameBytes : public ::testing::Test {
 protected:
  SameBytes() {
    two_layers(false).save(folder_ / "float.onnx");
    two_layers(true).save(folder_ / "int8.onnx");
    NpzWriter inputs(folder_ / "inputs.npz");
    inputs.add("x", integers("x", {samples, features}, 3, 3));
    inputs.finish();
  }

  std::string path(const std::string& name) const { return folder_ / name; }

  Arguments measurement(const std::string& command) const {
    return {command,        path("int8.onnx"),  "--reference", path("float.onnx"),
            "--input-data", path("inputs.npz"), "--samples",   std::to_string(samples)};
  }

  std::string result(Arguments arguments, const Arguments& more, bool supervised = true) {
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.insert(arguments.end(), {"-o", path("result.json")});
    Arguments whole = {"env", supervised ? "VERNIER=" : "VERNIER_UNSUPERVISED=1", VERNIER_BINARY};
    whole.insert(whole.end(), arguments.begin(), arguments.end());
    const CompletedProcess outcome = run_program(whole);
    EXPECT_TRUE(outcome.exit_code == 0 || outcome.exit_code == 1 || outcome.exit_code == 3)
        << outcome.err;
    return read_text(path("result.json"));
  }

  void expect_same(const std::string& command) {
    const Arguments arguments = measurement(command);
    const std::string expected = result(arguments, {"--threads", "1"});
    EXPECT_NE(expected.find("sqnr_db"), std::string::npos);
    EXPECT_EQ(result(arguments, {"--threads", "2"}), expected);
    EXPECT_EQ(result(arguments, {"--threads", "4"}, false), expected);
    const Arguments checkpoint = {"--threads", "4", "--checkpoint", path("checkpoint")};
    EXPECT_EQ(result(arguments, checkpoint), expected);
    EXPECT_EQ(result(arguments, checkpoint, false), expected) << "from the checkpoint";
    EXPECT_EQ(merged(arguments), expected);
  }

  // Of parts that were measured last first.
  std::string merged(const Arguments& arguments) {
    Arguments merge = {"merge"};
    for (const char* number : {"3", "2", "1"}) {
      Arguments part = arguments;
      const std::string file = path(std::string(number) + ".vpart");
      part.insert(part.end(),
                  {"--threads", "1", "--shard", number + std::string("/3"), "-o", file});
      EXPECT_EQ(run_vernier(part).exit_code, 0);
      merge.push_back(file);
    }
    return result(merge, {});
  }

  TemporaryDirectory folder_;
};

TEST_F(SameBytes, of_eval) { expect_same("eval"); }
TEST_F(SameBytes, of_debug) { expect_same("debug"); }
TEST_F(SameBytes, of_layers) { expect_same("layers"); }

TEST_F(SameBytes, of_outputs_with_and_without_probes) {
  const auto recorded = [&](const char* tensors, const char* threads) {
    const CompletedProcess outcome =
        run_vernier({"record", path("int8.onnx"), "--input-data", path("inputs.npz"), "--tensors",
                     tensors, "--threads", threads, "-o", path("recorded.npz")});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return NpzReader(path("recorded.npz")).read("y").bytes;
  };
  const auto expected = recorded("outputs", "1");
  for (const char* threads : {"1", "2", "4"})
    for (const char* tensors : {"outputs", "all"})
      EXPECT_EQ(recorded(tensors, threads), expected) << tensors << " on " << threads;
}

}  // namespace
}  // namespace vernier
