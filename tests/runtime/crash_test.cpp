#include "vernier/runtime/crash.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

namespace vernier {
namespace {

using ::testing::HasSubstr;

// As wait() tells of a process that a signal ended: the number of the signal.
std::string told(int signal, const ActivityPage& page) { return crash_error(signal, page).what(); }

TEST(Crash, a_file_that_was_cut_off_is_not_a_fault_of_the_program) {
  const SharedActivity activity;
  EXPECT_THAT(told(SIGBUS, activity.page()), HasSubstr("[file] a file was cut off"));
  EXPECT_THAT(told(SIGSEGV, activity.page()), HasSubstr("please report the command"));
}

TEST(Crash, a_process_that_was_killed_may_have_lacked_memory) {
  const SharedActivity activity;
  EXPECT_THAT(told(SIGKILL, activity.page()), HasSubstr("[memory] the process was killed"));
  EXPECT_FALSE(is_crash(SIGKILL));
  EXPECT_TRUE(is_crash(SIGBUS));
}

}  // namespace
}  // namespace vernier
