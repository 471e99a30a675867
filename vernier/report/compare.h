#pragma once

#include <string>
#include <vector>

#include "vernier/analysis/compare.h"
#include "vernier/report/document.h"
#include "vernier/report/json.h"

namespace vernier {

// What was compared, for the panel and the JSON configuration; file names only, no folders.
struct CompareSubject {
  std::string candidate;
  std::string reference;
  std::string task;       // empty: none
  std::string precision;  // of the candidate
  std::string device;
  std::string inputs;  // "random, seed 42" or the data's file name
  std::vector<Limit> limits;
  Runtimes runtimes;
};

Document describe_compare(const CompareSubject& subject, const CompareResult& result);

// Schema: docs/schemas/compare.schema.json.
std::string compare_json(const CompareSubject& subject, const CompareResult& result);

}  // namespace vernier
