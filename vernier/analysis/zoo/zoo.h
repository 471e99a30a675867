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
  measured,  // now
  cached,    // before, of the same contents
  failed,    // could not be measured
  missing    // was not reached, or is measured elsewhere
};
std::string_view zoo_state_name(ZooState state);

// The number of a result that a table shows.
struct ZooFigure {
  std::string metric;
  double value = 0;
  Better better = Better::higher;
  bool operator==(const ZooFigure&) const = default;
};

// What the last complete run said of a row.
struct ZooLast {
  std::optional<Outcome> outcome;  // none: it could not be measured
  std::optional<ZooFigure> figure;
  bool operator==(const ZooLast&) const = default;
};

struct ZooRow {
  ZooEntry entry;
  ZooState state = ZooState::missing;
  std::string verdict;  // of the command's result, as JSON; empty: there is none
  std::string error;    // why
  Outcome outcome = Outcome::inconclusive;
  std::optional<ZooFigure> figure;
  std::optional<ZooLast> last;
  std::vector<std::string> changed;  // facts that differ from the last run
  bool operator==(const ZooRow&) const = default;
};

// Takes verdict, outcome and figure from the command's JSON, which may be large. Throws Error for
// what is no result.
void set_result(ZooRow& row, const std::string& json);

// The figure less that of the last run; nothing where one of them has none, or another metric.
std::optional<double> delta(const ZooRow& row);

struct ZooResult {
  std::vector<ZooRow> rows;
  bool interrupted = false;
  bool operator==(const ZooResult&) const = default;
};

// The worst of its rows: 2 where one could not be measured, else 1 for a failure, 3 where nothing
// can be said of one, 0.
int exit_code(const ZooResult& result);
// Fails where a row fails or could not be measured.
Outcome outcome_of(const ZooResult& result);

}  // namespace vernier
