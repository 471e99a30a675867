#include "vernier/report/task.h"

#include <gtest/gtest.h>

#include "vernier/report/terminal.h"

namespace vernier {
namespace {

TEST(TaskReport, shares_are_of_the_whole) {
  const TaskTimings timings{.waiting = 0.5, .reference = 4, .candidate = 5, .scoring = 0.5};
  EXPECT_EQ(render_terminal(describe_timings(timings), false),
            "Time\n"
            "                         seconds   share\n"
            "  waiting for data         0.500    5.0%\n"
            "  running the reference    4.000   40.0%\n"
            "  running the candidate    5.000   50.0%\n"
            "  scoring                  0.500    5.0%\n"
            "  all                     10.000  100.0%\n"
            "  90.0% inside the runtimes\n");
}

TEST(TaskReport, a_reference_that_did_not_run_has_no_row) {
  const std::string text = render_terminal(describe_timings({}), false);
  EXPECT_EQ(text.find("reference"), std::string::npos);
  EXPECT_NE(text.find("0.0% inside the runtimes"), std::string::npos);
}

TEST(TaskReport, an_uncertain_metric_has_a_note_whatever_its_figures) {
  TaskResult result{.metrics = {{.name = "f1", .reference = 90, .delta = -90, .allowed = true}}};
  const auto text = [&] { return render_terminal(describe_task({}, {}, result), false); };
  const char* note = "note: f1 is within 0.5 points on these samples, but its interval is not";
  EXPECT_EQ(text().find(note), std::string::npos);
  result.metrics[0].uncertain = true;
  EXPECT_NE(text().find(note), std::string::npos);
}

}  // namespace
}  // namespace vernier
