#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/cli/run.h"
#include "tests/shared_data.h"
#include "tests/temporary_directory.h"

namespace vernier {
namespace {

using testing::CompletedProcess;
using testing::run_vernier;

namespace fs = std::filesystem;

bool is_shown_safely(const std::string& text) {
  return std::ranges::none_of(text, [](unsigned char c) { return c < 0x20 && c != '\n'; }) &&
         text.find("\xc2\x9b") == std::string::npos;
}

// An answer, or one line that says why there is none.
void expect_answer(const std::vector<std::string>& command) {
  SCOPED_TRACE(::testing::PrintToString(command));
  const CompletedProcess outcome = run_vernier(command);
  EXPECT_THAT(outcome.exit_code, ::testing::AnyOf(0, 1, 2, 3)) << outcome.err;
  EXPECT_TRUE(is_shown_safely(outcome.out + outcome.err)) << outcome.out << outcome.err;
  if (outcome.exit_code != 2) return;
  EXPECT_EQ(outcome.out, "");
  EXPECT_THAT(outcome.err, ::testing::HasSubstr("vernier: ["));
  for (const char* internal : {"std::bad_alloc", "[json.exception", "tensorprotoutils"})
    EXPECT_THAT(outcome.err, ::testing::Not(::testing::HasSubstr(internal)));
}

class Hostile : public ::testing::TestWithParam<std::string> {
 protected:
  void run_all(const fs::path& folder) {
    if (!fs::exists(folder)) GTEST_SKIP() << folder << " is not there";
    const TemporaryDirectory written;
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string file = entry.path();
      std::vector<std::string> command = {GetParam(),       file, "--timeout", "2",
                                          "--memory-limit", "2"};
      if (GetParam() == "record") command.insert(command.end(), {"-o", written / "a.npz"});
      if (GetParam() == "inspect") command.push_back("--tensors");
      if (GetParam() == "eval") command.insert(command.end(), {"--reference", file});
      if (GetParam() == "convert")
        command.insert(command.end(), {"--precision", "fp16", "-o", written / "a.onnx"});
      expect_answer(command);
    }
  }
};

TEST_P(Hostile, crafted_files_end_in_an_answer_or_one_line) { run_all(shared_data("hostile")); }

TEST_P(Hostile, kernels_that_trust_sizes_end_in_an_answer_or_one_line) {
  run_all(shared_data("wild/ort"));
}

INSTANTIATE_TEST_SUITE_P(Commands, Hostile,
                         ::testing::Values("check", "inspect", "record", "eval", "convert"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace vernier
