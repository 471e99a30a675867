#include "vernier/exporting/process.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/temporary_directory.h"

namespace vernier {
namespace {

TEST(Process, its_output_and_exit_code_are_returned) {
  const ProcessResult result = run_process({"sh", "-c", "echo one; echo two; exit 3"});
  EXPECT_EQ(result.out, "one\ntwo\n");
  EXPECT_EQ(result.exit_code, 3);
}

TEST(Process, arguments_are_not_interpreted) {
  EXPECT_EQ(run_process({"printf", "%s", "$HOME; *"}).out, "$HOME; *");
}

TEST(Process, the_environment_is_added_to_and_replaced) {
  setenv("VERNIER_TEST_KEPT", "kept", 1);
  setenv("VERNIER_TEST_REPLACED", "old", 1);
  const ProcessResult result =
      run_process({"sh", "-c", "echo $VERNIER_TEST_KEPT $VERNIER_TEST_REPLACED"},
                  {{"VERNIER_TEST_REPLACED", "new"}});
  EXPECT_EQ(result.out, "kept new\n");
}

TEST(Process, standard_input_is_empty) { EXPECT_EQ(run_process({"cat"}).out, ""); }

TEST(Process, a_signal_is_an_exit_code_above_128) {
  EXPECT_EQ(run_process({"sh", "-c", "kill -9 $$"}).exit_code, 128 + 9);
}

TEST(Process, a_program_that_is_not_there_cannot_be_started) {
  EXPECT_EQ(run_process({"no-such-program-anywhere"}).exit_code, 127);
}

TEST(Process, much_output_is_read_while_it_runs) {
  EXPECT_EQ(run_process({"sh", "-c", "head -c 1000000 /dev/zero"}).out.size(), 1000000u);
}

TEST(Process, a_program_ends_with_who_started_it) {
  const TemporaryDirectory folder;
  const std::string file = folder / "pid";
  const pid_t starter = fork();
  if (starter == 0) {
    run_process(
        {"sh", "-c",
         "echo $$ > '" + file + ".new'; mv '" + file + ".new' '" + file + "'; exec sleep 1000"});
    _exit(0);
  }
  const auto wait_until = [](const auto& is_so) {
    for (int i = 0; i < 1200 && !is_so(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    return is_so();
  };
  ASSERT_TRUE(wait_until([&] { return std::filesystem::exists(file); }));
  pid_t started = 0;
  std::ifstream(file) >> started;
  ASSERT_EQ(kill(started, 0), 0);
  kill(starter, SIGKILL);
  waitpid(starter, nullptr, 0);
  EXPECT_TRUE(wait_until([&] {
    std::string state;
    std::ifstream stat(fmt::format("/proc/{}/stat", started));
    return !(stat >> state >> state >> state) || state == "Z";
  }));
}

}  // namespace
}  // namespace vernier
