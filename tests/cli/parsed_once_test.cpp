#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "tests/cli/run.h"
#include "tests/fixture.h"
#include "tests/temporary_directory.h"

namespace vernier {
namespace {

using ::testing::_;
using testing::CompletedProcess;
using ::testing::Each;
using ::testing::IsSupersetOf;
using ::testing::Pair;
using testing::read_text;
using testing::run_program;

// How often a command tells each line to a library that is preloaded.
std::map<std::string, int> times_told(const std::string& library, const std::string& variable,
                                      const std::vector<std::string>& arguments) {
  const TemporaryDirectory folder;
  std::vector<std::string> command = {"env", "LD_PRELOAD=" + library,
                                      variable + "=" + (folder / "told").string(),
                                      "VERNIER_UNSUPERVISED=1", VERNIER_BINARY};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const CompletedProcess outcome = run_program(command, folder.path());
  EXPECT_LE(outcome.exit_code, 1) << outcome.err;
  std::map<std::string, int> times;
  std::istringstream lines(read_text(folder / "told"));
  for (std::string line; std::getline(lines, line);) ++times[line];
  return times;
}

// How often a command maps each file: a model is mapped when it is parsed, and when it is hashed.
std::map<std::string, int> times_mapped(const std::vector<std::string>& arguments) {
  return times_told(VERNIER_OPEN, "VERNIER_OPENED", arguments);
}

// How often a command indexes each graph: by a hash of all that is in it.
std::map<std::string, int> times_indexed(const std::vector<std::string>& arguments) {
  return times_told(VERNIER_INDEX, "VERNIER_INDEXED", arguments);
}

class ParsedOnce : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "AddressSanitizer wants to be loaded before all others";
#endif
  }
};

TEST_F(ParsedOnce, inspect_parses_the_model_that_it_runs_once) {
  EXPECT_THAT(times_mapped({"inspect", mnist_cnn, "--tensors"}),
              IsSupersetOf({Pair(mnist_cnn, 1)}));
}

TEST_F(ParsedOnce, commands_about_a_pair_parse_each_model_once) {
  const std::vector<std::vector<std::string>> commands = {
      {"check", mnist_int8, "--reference", mnist_cnn, "-o", "page.html"},
      {"layers", mnist_int8, "--reference", mnist_cnn, "-o", "page.html"},
      {"eval", mnist_int8, "--reference", mnist_cnn, "--samples", "2", "--stages"},
      {"diagnose", mnist_int8, mnist_cnn, "--quick", "-o", "page.html"},
      {"diagnose", mnist + "mnist_vit.onnx", mnist_cnn, "-o", "page.html"}};
  for (const auto& command : commands) {
    const std::string candidate = command[1];
    EXPECT_THAT(times_mapped(command), IsSupersetOf({Pair(candidate, 1), Pair(mnist_cnn, 1)}))
        << command[0];
  }
}

TEST_F(ParsedOnce, a_reference_of_recorded_outputs_is_parsed_once) {
  EXPECT_THAT(times_mapped({"eval", mnist + "mnist_reference_outputs.npz", "--reference", mnist_cnn,
                            "--input-data", mnist_inputs}),
              IsSupersetOf({Pair(mnist_cnn, 1)}));
}

TEST_F(ParsedOnce, a_checkpoint_hashes_the_models_but_does_not_parse_them_again) {
  EXPECT_THAT(
      times_mapped({"layers", mnist_int8, "--reference", mnist_cnn, "--checkpoint", "kept"}),
      IsSupersetOf({Pair(mnist_int8, 2), Pair(mnist_cnn, 2)}));
  EXPECT_THAT(times_mapped({"eval", mnist + "mnist_cnn.onnx", "--reference", mnist_int8, "--task",
                            "image-classification", "--dataset", mnist_labelled, "--samples", "4",
                            "--checkpoint", "kept"}),
              IsSupersetOf({Pair(mnist_int8, 2), Pair(mnist_cnn, 2)}));
}

// All of debug makes, and so indexes, the same model with switches twice.
TEST_F(ParsedOnce, commands_index_no_graph_twice) {
  const std::vector<std::vector<std::string>> commands = {
      {"inspect", mnist_int8, "--tensors"},
      {"check", mnist_int8, "--reference", mnist_cnn, "-o", "page.html"},
      {"eval", mnist_int8, "--reference", mnist_cnn, "-o", "page.html"},
      {"debug", mnist_int8, "--reference", mnist_cnn, "--quick", "-o", "page.html"},
      {"layers", mnist_int8, "--reference", mnist_cnn, "-o", "page.html"},
      {"diagnose", mnist_int8, mnist_cnn, "--data", mnist_inputs, "-o", "page.html"},
      {"diagnose", mnist + "mnist_vit.onnx", mnist_cnn, "-o", "page.html"},
      {"repair", mnist_int8, "--reference", mnist_cnn, "--data", mnist_inputs, "-o", "new.onnx"},
      {"tune", mnist_int8, "--reference", mnist_cnn, "--data", mnist_inputs, "--target",
       "sqnr_db>20", "-o", "new.onnx"},
      {"tune", mnist_cnn, "--data", mnist_inputs, "--target", "sqnr_db>20", "-o", "new.onnx"},
      {"quantize", mnist_cnn, "--data", mnist_inputs, "-o", "new.onnx"}};
  for (const auto& command : commands) {
    const std::map<std::string, int> times = times_indexed(command);
    EXPECT_FALSE(times.empty()) << command[0];
    EXPECT_THAT(times, Each(Pair(_, 1))) << command[0] << " " << command[1];
  }
}

}  // namespace
}  // namespace vernier
