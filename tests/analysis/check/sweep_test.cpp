// Checks a part of Debian's libonnx-testdata: single operators, sequences, strings, training.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "vernier/analysis/check/check.h"
#include "vernier/report/finding.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

const fs::path corpus = "/usr/share/libonnx-testdata/data";
constexpr int step = 5;  // every so many of about a thousand: the rest finds nothing new

TEST(CheckSweep, every_model_can_be_checked_whatever_is_in_it) {
  if (!fs::exists(corpus)) GTEST_SKIP() << "libonnx-testdata is not installed";
  std::set<fs::path> models;
  for (const auto& entry : fs::recursive_directory_iterator(corpus))
    if (entry.path().filename() == "model.onnx") models.insert(entry.path());
  testing::internal::CaptureStderr();  // ONNX Runtime's warnings about old operator sets
  std::vector<std::string> failed;
  int number = 0;
  for (const fs::path& model : models) {
    if (number++ % step != 0) continue;
    try {
      for (const Finding& finding : check(model, {.runtime = {.threads = 1}}).findings)
        EXPECT_FALSE(evidence_text(finding).empty() || remedy_text(finding).empty()) << finding.id;
    } catch (const std::exception& error) {
      failed.push_back(model.string() + ": " + error.what());
    }
  }
  testing::internal::GetCapturedStderr();
  EXPECT_THAT(failed, testing::IsEmpty());
  EXPECT_GE(models.size(), 1000U) << "too few models are installed";
}

}  // namespace
}  // namespace vernier
