#include "vernier/report/task_timings.h"

#include <fmt/format.h>

namespace vernier {

Document describe_timings(const TaskTimings& timings) {
  const double inside = timings.reference + timings.candidate;
  const double total = inside + timings.waiting + timings.scoring;
  Table table{.title = "Time", .columns = {{"", Align::left}, {"seconds"}, {"share"}}};
  const auto add = [&](const char* what, double seconds) {
    table.rows.push_back({what, fmt::format("{:.3f}", seconds),
                          fmt::format("{:.1f}%", total > 0 ? 100 * seconds / total : 0)});
  };
  add("waiting for data", timings.waiting);
  if (timings.reference > 0) add("running the reference", timings.reference);
  add("running the candidate", timings.candidate);
  add("scoring", timings.scoring);
  add("all", total);
  table.note = fmt::format("{:.1f}% inside the runtimes", total > 0 ? 100 * inside / total : 0);
  return {.blocks = {table}};
}

}  // namespace vernier
