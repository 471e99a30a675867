#include "vernier/report/progress.h"

#include <gtest/gtest.h>

namespace vernier {
namespace {

TEST(Progress, shows_the_rate_and_the_time_left) {
  EXPECT_EQ(render_progress({"record", 25, 100, 5.0}),
            "record  [=====>              ]  25/100  5 samples/s  0:15 left");
}

TEST(Progress, hours_are_shown_when_there_are_any) {
  EXPECT_EQ(render_progress({"eval", 1, 100, 60.0}),
            "eval  [>                   ]  1/100  0.0167 samples/s  1:39:00 left");
}

TEST(Progress, before_the_first_sample_there_is_no_rate) {
  EXPECT_EQ(render_progress({"record", 0, 4, 1.0}), "record  [>                   ]  0/4");
}

TEST(Progress, a_finished_or_empty_job_has_no_time_left) {
  EXPECT_EQ(render_progress({"record", 4, 4, 2.0}),
            "record  [====================]  4/4  2 samples/s");
  EXPECT_EQ(render_progress({"record", 0, 0, 2.0}), "record  [>                   ]  0/0");
}

TEST(Progress, is_cut_to_the_width_of_the_terminal) {
  EXPECT_EQ(render_progress({"record", 25, 100, 5.0}, 10), "record  [=");
}

}  // namespace
}  // namespace vernier
