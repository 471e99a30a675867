#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/cli/run.h"
#include "tests/temporary_directory.h"
#include "vernier/version.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;
using testing::expect_error;
using testing::HasSubstr;
using testing::Outcome;
using testing::run_program;
using testing::run_vernier;
using testing::StartsWith;
using testing::TemporaryDirectory;

const fs::path built = fs::path(VERNIER_BINARY).parent_path().parent_path();
const std::string model = VERNIER_FIXTURES "/mnist/mnist_cnn.onnx";

TEST(Providers, lists_those_of_the_library_it_names) {
  const Outcome outcome = run_vernier({"providers"});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.out, StartsWith("onnxruntime " + onnxruntime_version() + " (/"));
  EXPECT_THAT(outcome.out, HasSubstr("\ncpu\n"));
}

TEST(Providers, the_file_that_is_named_is_loaded) {
  const TemporaryDirectory folder;
  const std::string file = folder / "another.so";
  fs::copy(onnxruntime_library(), file);
  EXPECT_THAT(run_vernier({"providers", "--onnxruntime", file}).out, HasSubstr("another.so)\n"));
  EXPECT_THAT(run_program({"env", "VERNIER_ONNXRUNTIME=" + file, VERNIER_BINARY, "providers"}).out,
              HasSubstr("another.so)\n"));
  const Outcome outcome = run_vernier(
      {"eval", model, "--reference", model, "--samples", "1", "--onnxruntime", file, "-f", "json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("another.so\""));
}

// A file that is named and cannot be used is an error: another one would give other numbers.
TEST(Providers, a_file_that_is_no_onnx_runtime_is_refused) {
  expect_error(run_vernier({"providers", "--onnxruntime", "/nowhere/libonnxruntime.so"}),
               "/nowhere/libonnxruntime.so (--onnxruntime) cannot be loaded");
  expect_error(run_program({"env", "VERNIER_ONNXRUNTIME=libz.so.1", VERNIER_BINARY, "providers"}),
               "libz.so.1 (VERNIER_ONNXRUNTIME) is no ONNX Runtime");
}

TEST(Providers, a_python_environment_is_asked_for_its_onnx_runtime_before_our_own_is_taken) {
  const TemporaryDirectory folder;
  const fs::path site = fs::path(folder / "lib/python3/site-packages");
  for (const std::string name :
       {"bin/vernier", "lib/libvernier.so.0.1", "lib/vernier/libonnxruntime.so.1"}) {
    fs::create_directories((site / "vernier" / name).parent_path());
    fs::copy(built / name, site / "vernier" / name);
  }
  const auto providers = [&] {
    return run_program({site / "vernier/bin/vernier", "providers"}).out;
  };
  EXPECT_THAT(providers(), HasSubstr("site-packages/vernier/lib/vernier/libonnxruntime.so.1)"));
  fs::create_directories(site / "onnxruntime/capi");
  fs::copy(onnxruntime_library(), site / "onnxruntime/capi/libonnxruntime.so.1.99.0");
  EXPECT_THAT(providers(), HasSubstr("site-packages/onnxruntime/capi/libonnxruntime.so.1.99.0)"));
}

}  // namespace
}  // namespace vernier
