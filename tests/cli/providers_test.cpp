#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/cli/run.h"
#include "tests/temporary_directory.h"
#include "vernier/version.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;
using testing::CompletedProcess;
using testing::expect_error;
using ::testing::HasSubstr;
using testing::run_program;
using testing::run_vernier;
using ::testing::StartsWith;

const fs::path built = fs::path(VERNIER_BINARY).parent_path().parent_path();
const std::string model = VERNIER_FIXTURES "/mnist/mnist_cnn.onnx";

TEST(Providers, lists_those_of_the_library_it_names) {
  const CompletedProcess outcome = run_vernier({"providers"});
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
  const CompletedProcess outcome = run_vernier(
      {"eval", model, "--reference", model, "--samples", "1", "--onnxruntime", file, "-f", "json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("another.so\""));
}

TEST(Providers, one_that_is_not_there_is_not_the_models_fault) {
  for (const char* command : {"check", "diagnose", "eval"}) {
    std::vector<std::string> arguments = {command, model, "--ep", "bogus"};
    if (command != std::string("check")) {
      arguments.insert(arguments.end(), {"--reference", model});
    }
    expect_error(run_vernier(arguments), "execution provider 'bogus': not in this build");
  }
}

// A file that is named and cannot be used is an error: another one would give other numbers.
TEST(Providers, a_file_that_is_no_onnx_runtime_is_refused) {
  expect_error(run_vernier({"providers", "--onnxruntime", "/nowhere/libonnxruntime.so"}),
               "/nowhere/libonnxruntime.so (--onnxruntime) cannot be loaded");
  expect_error(run_program({"env", "VERNIER_ONNXRUNTIME=libz.so.1", VERNIER_BINARY, "providers"}),
               "libz.so.1 (VERNIER_ONNXRUNTIME) is no ONNX Runtime");
}

TEST(Providers, one_that_is_too_old_is_refused_with_what_to_do) {
  const std::string file = VERNIER_OLD_ONNXRUNTIME;
  for (std::vector<std::string> command :
       {std::vector<std::string>{"providers"}, {"eval", model, "--reference", model}}) {
    command.insert(command.end(), {"--onnxruntime", file});
    expect_error(run_vernier(command),
                 file +
                     " (--onnxruntime) is version 1.20.1; Vernier needs 1.21 or later: pip "
                     "install --upgrade onnxruntime, or name another with --onnxruntime FILE");
  }
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
  // Those that a virtual environment was made from, if it sees their packages.
  const fs::path of_base = fs::path(folder / "base/lib/python3/dist-packages/onnxruntime/capi");
  fs::create_directories(of_base);
  fs::copy(onnxruntime_library(), of_base / "libonnxruntime.so.1.98.0");
  const auto write_settings = [&](const std::string& seen) {
    std::ofstream(folder / "pyvenv.cfg") << "home = " << (folder / "base/bin").string()
                                         << "\ninclude-system-site-packages = " << seen << "\n";
  };
  write_settings("false");
  EXPECT_THAT(providers(), HasSubstr("site-packages/vernier/lib/vernier/libonnxruntime.so.1)"));
  write_settings("true");
  EXPECT_THAT(providers(), HasSubstr("dist-packages/onnxruntime/capi/libonnxruntime.so.1.98.0)"));
  fs::create_directories(site / "onnxruntime/capi");
  expect_error(run_program({site / "vernier/bin/vernier", "providers"}),
               "onnxruntime/capi: is too old to have a libonnxruntime.so; Vernier needs 1.21");
  fs::copy(onnxruntime_library(), site / "onnxruntime/capi/libonnxruntime.so.1.99.0");
  EXPECT_THAT(providers(), HasSubstr("site-packages/onnxruntime/capi/libonnxruntime.so.1.99.0)"));
}

TEST(Providers, the_library_of_the_system_is_taken_last_under_whatever_version_it_has) {
  const TemporaryDirectory folder;
  for (const std::string name : {"bin/vernier", "lib/libvernier.so.0.1"}) {
    fs::create_directories((folder / name).parent_path());
    fs::copy(built / name, folder / name);
  }
  const auto providers = [&] {
    return run_program({"env", "LD_LIBRARY_PATH=" + folder.path().string(),
                        (folder / "bin/vernier").string(), "providers"});
  };
  if (providers().exit_code == 0) GTEST_SKIP() << "this system has an ONNX Runtime of its own";
  expect_error(providers(), "libonnxruntime.so.1 (the system's) cannot be loaded");
  for (const std::string name : {"libonnxruntime.so.1.22", "libonnxruntime.so.1"}) {
    fs::copy(onnxruntime_library(), folder / name);
    EXPECT_THAT(providers().out, HasSubstr("/" + name + ")"));
  }
}

// The provider of OpenVINO, which compiles graphs for this CPU as others do for theirs.
class OpenVino : public ::testing::Test {
 protected:
  void SetUp() override {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "OpenVINO loads libraries in a way that AddressSanitizer refuses";
#endif
    const fs::path lib = fs::path(VERNIER_OPENVINO) / "lib";
    if (fs::exists(lib))
      for (const auto& entry : fs::recursive_directory_iterator(lib))
        if (entry.path().filename().string().starts_with("libonnxruntime.so"))
          library = entry.path();
    if (library.empty()) GTEST_SKIP() << "no provider of OpenVINO: scripts/setup.sh torch2";
  }
  CompletedProcess run(std::vector<std::string> command) const {
    command.insert(command.end(), {"--ep", "openvino", "--onnxruntime", library});
    return run_vernier(command);
  }
  std::string library;
};

const std::string torch_model = VERNIER_FIXTURES "/mnist/mnist_cnn.pt";

TEST_F(OpenVino, runs_the_candidate_and_the_cpu_the_reference) {
  const CompletedProcess outcome =
      run({"eval", model, "--reference", model, "--reference-ep", "cpu", "--samples", "4",
           "--inputs", "uniform", "-f", "json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_THAT(outcome.out, HasSubstr("\"device\": \"openvino\""));
  EXPECT_THAT(outcome.out, HasSubstr("\"openvino: 1 (OpenVINO-EP-subgraph"));
}

TEST_F(OpenVino, shows_its_own_tensors_to_layers) {
  const CompletedProcess outcome = run({"layers", model, "--reference", torch_model, "-f", "json"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  // A provider whose graph is cut would leave nodes to the CPU.
  EXPECT_THAT(outcome.out, HasSubstr("\"openvino: 1 (OpenVINO-EP-subgraph"));
  EXPECT_THAT(outcome.out, ::testing::Not(HasSubstr("\"cpu: ")));
  EXPECT_THAT(outcome.out, HasSubstr("\"layers_exceeding\": 0"));
}

TEST_F(OpenVino, is_recorded) {
  const TemporaryDirectory folder;
  const CompletedProcess outcome =
      run({"record", model, "--tensors", "all", "--samples", "1", "-o", folder / "all.npz"});
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
}

}  // namespace
}  // namespace vernier
