#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/analysis/verdict.h"
#include "vernier/analysis/zoo/zoo_file.h"
#include "vernier/metrics/similarity.h"

namespace vernier {

enum class ZooState {
  measured,  // in this run
  cached,    // by an earlier run, on the same contents
  failed,    // could not be measured
  missing    // not reached, or measured elsewhere
};
std::string_view zoo_state_name(ZooState state);

// The number of a result that the table shows.
struct ZooFigure {
  std::string metric;
  double value = 0;
  Better better = Better::higher;
  bool operator==(const ZooFigure&) const = default;
};

// A row's result in the last complete run.
struct ZooLast {
  std::optional<Outcome> outcome;  // nullopt if nothing was measured or judged
  std::optional<ZooFigure> figure;
  bool operator==(const ZooLast&) const = default;
};

struct ZooRow {
  ZooEntry entry;
  ZooState state = ZooState::missing;
  std::string verdict;             // of the command's result, as JSON; empty if there is none
  std::string error;               // why there is no result
  std::optional<Outcome> outcome;  // nullopt if there is no result, or it judges nothing
  std::optional<ZooFigure> figure;
  std::optional<ZooLast> last;
  std::vector<std::string> changed;  // facts that differ from the last run
  bool operator==(const ZooRow&) const = default;
};

// Takes verdict, outcome, both unless nothing was judged, and figure from the command's JSON, which
// may be large. Throws Error if that is not a result.
void set_result(ZooRow& row, const std::string& json);

// The figure minus that of the last run; nullopt if either has none, or if the metrics differ.
std::optional<double> delta(const ZooRow& row);

struct ZooResult {
  std::vector<ZooRow> rows;
  Verdict verdict;  // a row that fails or could not be measured is a failure
  bool interrupted = false;
  bool operator==(const ZooResult&) const = default;
};

// The rows with one verdict on all of them: fail if a row fails or could not be measured; pass only
// if all rows pass.
ZooResult judge_rows(std::vector<ZooRow> rows, bool interrupted);

// The exit code of the worst row: 2 if one could not be measured, else that of the verdict.
int exit_code(const ZooResult& result);

}  // namespace vernier
