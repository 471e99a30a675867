#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "vernier/analysis/verdict.h"
#include "vernier/report/document.h"
#include "vernier/report/json.h"
#include "vernier/report/verdict.h"

namespace vernier {

// What was run, and on what; the same for every command. Models are given by file name, without
// folders. Empty fields are omitted from reports.
struct RunDescription {
  using Fact = std::variant<std::string, std::int64_t, double, bool, std::vector<std::string>>;
  std::string command;    // "eval"
  std::string candidate;  // file name or id
  std::string reference;
  std::string task;
  std::string precision;                               // of the candidate
  std::string device;                                  // ONNX Runtime's execution provider
  std::string inputs;                                  // "random uniform, seed 42", or a name
  std::optional<std::int64_t> samples;                 // number of samples that were run
  std::vector<std::pair<std::string, Fact>> settings;  // facts of this command only: "tolerance"
  bool interrupted = false;
  Runtimes runtimes;
};

// The parts of a report that all commands share. `verdict` is null if the command judges nothing.
struct Envelope {
  RunDescription run;
  std::vector<std::string> warnings = {};
  const Verdict* verdict = nullptr;
};

// A report: the run and its limits, then the result, then warnings, and the verdict as the last
// line.
Document report_document(const Envelope& envelope, std::vector<Block> result);

// The run's facts by name, as they appear in JSON.
std::vector<std::pair<std::string, RunDescription::Fact>> run_facts(const RunDescription& run);

// The first keys of a result: schema_version, command, versions, run, verdict and pass (if
// something was judged), interrupted, warnings. The result's own keys follow.
template <typename Json>
Json report_json(const Envelope& envelope) {
  const RunDescription& run = envelope.run;
  Json json = json_header<Json>(run.command, run.runtimes);
  json["run"] = Json::object();
  for (const auto& [name, fact] : run_facts(run))
    std::visit([&, &key = name](const auto& value) { json["run"][key] = value; }, fact);
  if (envelope.verdict && envelope.verdict->has_judged()) {
    json["verdict"] = verdict_json<Json>(*envelope.verdict);
    json["pass"] = envelope.verdict->pass();
  }
  json["interrupted"] = run.interrupted;
  json["warnings"] = envelope.warnings;
  return json;
}

}  // namespace vernier
