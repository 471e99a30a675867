#include "vernier/runtime/stopping.h"

#include <gtest/gtest.h>

#include <thread>

namespace vernier {
namespace {

TEST(Stopping, ends_the_runs_of_a_group_and_those_that_begin_later) {
  RunGroup group;
  bool told = false;
  {
    const StoppableRun run(group, [&] { told = true; });
    EXPECT_FALSE(run.stopped());
    group.stop();
    EXPECT_TRUE(told);
    EXPECT_TRUE(run.stopped());
  }
  EXPECT_THROW(StoppableRun(group, [] {}), Stopped);
  group.resume();
  EXPECT_FALSE(StoppableRun(group, [] {}).stopped());
}

TEST(Stopping, leaves_other_groups_alone) {
  RunGroup stopped, other;
  bool told = false;
  const StoppableRun run(other, [&] { told = true; });
  stopped.stop();
  EXPECT_FALSE(told);
  EXPECT_FALSE(run.stopped());
  EXPECT_NO_THROW(StoppableRun(other, [] {}));
}

TEST(Stopping, a_thread_has_the_group_of_its_scope_and_else_that_of_the_process) {
  const auto of_process = run_group();
  const auto own = std::make_shared<RunGroup>();
  {
    const RunGroupScope scope(own);
    EXPECT_EQ(run_group(), own);
    std::thread([&] { EXPECT_EQ(run_group(), of_process); }).join();
  }
  EXPECT_EQ(run_group(), of_process);
}

}  // namespace
}  // namespace vernier
