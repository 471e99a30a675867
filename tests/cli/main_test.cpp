#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/run.h"
#include "vernier/version.h"

namespace vernier {
namespace {

using testing::CompletedProcess;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::run_program;
using testing::run_vernier;

TEST(Main, version_names_the_program_and_its_runtimes) {
  const CompletedProcess outcome = run_vernier({"--version"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("vernier " + version() + "\n"));
  EXPECT_THAT(outcome.out, HasSubstr("onnxruntime " + onnxruntime_version() + " ("));
  const std::string torch = torch_version().empty() ? "" : "libtorch " + torch_version() + "\n";
  EXPECT_THAT(outcome.out, HasSubstr(torch));
}

TEST(Main, no_runtime_is_loaded_at_start) {
  const std::string libraries = run_program({"ldd", VERNIER_BINARY}).out;
  EXPECT_THAT(libraries, HasSubstr("libvernier"));
  EXPECT_THAT(libraries, Not(HasSubstr("libonnxruntime")));
  EXPECT_THAT(libraries, Not(HasSubstr("libtorch")));
  EXPECT_THAT(libraries, Not(HasSubstr("libduckdb")));
}

TEST(Main, help_lists_commands_and_shows_an_example) {
  const CompletedProcess outcome = run_vernier({"--help"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, HasSubstr("  diff "));
  EXPECT_THAT(outcome.out, HasSubstr("Example:\n  vernier eval"));
  EXPECT_THAT(run_vernier({"score", "--help"}).out, Not(HasSubstr("vernier eval")));
}

TEST(Main, a_wrong_or_missing_command_is_a_usage_error) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{}, {"measure"}, {"diff"}, {"--no-such-option"}}) {
    const CompletedProcess outcome = run_vernier(arguments);
    EXPECT_EQ(outcome.exit_code, 2);
    EXPECT_EQ(outcome.out, "");
    EXPECT_THAT(outcome.err, HasSubstr("--help"));
  }
}

}  // namespace
}  // namespace vernier
