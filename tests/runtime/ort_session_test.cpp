#include "vernier/runtime/ort_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixture.h"
#include "tests/model_builder.h"
#include "tests/temporary_directory.h"
#include "vernier/exporting/process.h"
#include "vernier/runtime/ort_runner.h"

namespace vernier {
namespace {

// Telemetry leaves a device id in the cache, also of those who have turned it on.
TEST(OrtEnvironment, no_telemetry_is_started) {
  const TemporaryDirectory folder;
  const std::string home = folder.path().string();
  const ProcessResult result =
      run_process({VERNIER_BINARY, "inspect", fixture("mnist/mnist_cnn.onnx"), "--tensors"},
                  {{"HOME", home}, {"XDG_CACHE_HOME", home}, {"ORT_DISABLE_TELEMETRY", "0"}});
  EXPECT_EQ(result.exit_code, 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

std::int64_t times_logged(const std::string& part) {
  for (const RuntimeMessage& message : runtime_messages())
    if (message.text.find(part) != std::string::npos) return message.count;
  return 0;
}

TEST(OrtEnvironment, messages_are_counted_and_not_printed) {
  GraphBuilder builder;
  builder.input("x", DType::f32, {{2}}).weight(make_tensor("nobody_reads_me", DType::f32, {2}));
  builder.node("Neg", {"x"}, {"y"}).output("y");
  testing::internal::CaptureStderr();
  OrtRunner first(builder.model());
  OrtRunner second(builder.model());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(times_logged("nobody_reads_me"), 2);
}

TEST(OrtEnvironment, errors_name_model_and_node_in_one_line) {
  EXPECT_STREQ(ort_error("m.onnx",
                         "Non-zero status code returned while running Add node. "
                         "Name:'sum' Status Message: shapes\ndiffer\n")
                   .what(),
               "[onnxruntime] m.onnx: node 'sum' (Add): shapes differ");
}

TEST(OrtEnvironment, errors_name_no_places_in_its_sources) {
  const auto shown = [](const std::string& message) {
    return std::string(ort_error("m.onnx", message).what());
  };
  EXPECT_EQ(shown("Exception during initialization: [ONNXRuntimeError] : 1 : FAIL : "
                  "tensorprotoutils.cc:1540 ValidateEmbeddedTensorProtoDataSizeAndShape "
                  "Initializer 'w': data field count (0) does not match"),
            "[onnxruntime] m.onnx: Initializer 'w': data field count (0) does not match");
  EXPECT_EQ(shown("Deserialize tensor w failed.endian_utils.cc:66 CopyLittleEndian source and "
                  "destination buffer size mismatch"),
            "[onnxruntime] m.onnx: Deserialize tensor w failed.source and destination buffer size "
            "mismatch");
  EXPECT_EQ(
      shown("status.IsOK() was false. [ONNXRuntimeError] : 1 : FAIL : tensorprotoutils.cc:2370 "
            "CopySparseData Sparse tensor: w index is out of bounds."),
      "[onnxruntime] m.onnx: Sparse tensor: w index is out of bounds.");
}

TEST(OrtEnvironment, lack_of_memory_is_no_fault_of_the_model) {
  for (const char* message :
       {"std::bad_alloc",
        "Non-zero status code returned while running Expand node. Name:'' Status Message: bad "
        "allocation",
        "bfc_arena.cc:376 void* onnxruntime::BFCArena::AllocateRawInternal(size_t, bool) Failed to "
        "allocate memory for requested buffer of size 4398046511104"})
    EXPECT_THAT(ort_error("m.onnx", message).what(),
                ::testing::AllOf(::testing::StartsWith("[memory] m.onnx: "),
                                 ::testing::HasSubstr("there is not enough memory; ")));
}

}  // namespace
}  // namespace vernier
