#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/cli/run.h"
#include "tests/fixture.h"
#include "tests/temporary_directory.h"

namespace vernier {
namespace {

using testing::CompletedProcess;
using testing::read_text;
using testing::run_program;

namespace fs = std::filesystem;

// Runs a command that writes `output` with a failure at the first call that changes files, then at
// the second, and so on, until none is left to fail: each time either the old file or the whole new
// one is there, and nothing beside it.
void expect_whole_or_untouched(std::vector<std::string> arguments, const std::string& output) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "AddressSanitizer wants to be loaded before all others";
#endif
  const TemporaryDirectory folder, counts;
  arguments.insert(arguments.end(), {"-o", folder / output});
  const auto run = [&](int fault) {
    std::vector<std::string> command = {"env",
                                        "LD_PRELOAD=" VERNIER_WRITE_FAULTS,
                                        "VERNIER_FAULT=" + std::to_string(fault),
                                        "VERNIER_FAULT_CALLS=" + (counts / "calls").string(),
                                        "VERNIER_UNSUPERVISED=1",
                                        VERNIER_BINARY};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return run_program(command);
  };
  const CompletedProcess whole = run(0);
  ASSERT_LE(whole.exit_code, 1) << whole.err;
  const std::string expected = read_text(folder / output);
  const int calls = std::stoi(read_text(counts / "calls"));
  ASSERT_GT(calls, 0);
  const int step = std::max(1, calls / 25);
  for (int fault = 1; fault <= calls; fault += fault < 8 || fault + 8 > calls ? 1 : step) {
    std::ofstream(folder / output) << "old";
    const CompletedProcess outcome = run(fault);
    const bool failed = outcome.exit_code == 2;
    EXPECT_EQ(read_text(folder / output), failed ? "old" : expected) << fault << outcome.err;
    if (failed) {
      EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
      EXPECT_NE(outcome.err.find("No space left"), std::string::npos) << outcome.err;
    }
    EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1) << fault;
  }
}

TEST(WriteFaults, a_report_is_whole_or_not_there) {
  expect_whole_or_untouched({"eval", mnist_int8, "--reference", mnist_cnn, "--samples", "2"},
                            "r.json");
}

TEST(WriteFaults, a_converted_model_is_whole_or_not_there) {
  expect_whole_or_untouched({"convert", mnist_cnn, "--precision", "fp16"}, "half.onnx");
}

TEST(WriteFaults, a_recording_is_whole_or_not_there) {
  expect_whole_or_untouched({"record", mnist_cnn, "--samples", "3", "--tensors", "all"}, "r.npz");
}

}  // namespace
}  // namespace vernier
