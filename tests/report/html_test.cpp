#include "vernier/report/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "vernier/analysis/tensor_detail.h"
#include "vernier/error.h"
#include "vernier/report/base64.h"
#include "vernier/report/detail.h"
#include "vernier/report/source_lines.h"

namespace vernier {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr const char* result =
    R"({"schema_version": 2, "command": "debug", "run": {"candidate": "</script><script>alert(1)</script>&<!--"}})";

TEST(Html, NamesCannotEndTheDataTheyAreIn) {
  const std::string page = render_html({.json = result});
  EXPECT_THAT(
      page,
      HasSubstr(
          R"(\u003c/script\u003e\u003cscript\u003ealert(1)\u003c/script\u003e\u0026\u003c!--)"));
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
}

TEST(Html, NamesCannotMoveOrHideOthers) {
  const std::string page =
      render_html({.json = "{\"schema_version\": 2, \"command\": \"debug\", \"run\": {\"a\u202e\": "
                           "\"b\\u001b\u009b\"}}"});
  EXPECT_THAT(page, HasSubstr(R"("a\\u{202e}":"b\\x1b\\x9b")"));
}

TEST(Html, PolicyAllowsOnlyThePagesOwnScript) {
  const std::string page = render_html({.json = result});
  EXPECT_THAT(page, HasSubstr("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(page, Not(HasSubstr("unsafe-inline")));
  EXPECT_LT(page.size(), 1'500'000);
}

TEST(Html, OtherFilesAreRefused) {
  EXPECT_THROW(render_html({.json = "[1]"}), Error);
  EXPECT_THROW(render_html({.json = "no JSON"}), Error);
  EXPECT_THROW(render_html({.json = R"({"schema_version": 1, "command": "debug"})"}), Error);
}

TEST(Base64, PadsAsRfc4648Does) {
  const auto encode = [](std::string_view text) { return base64(std::as_bytes(std::span(text))); };
  EXPECT_EQ(encode(""), "");
  EXPECT_EQ(encode("f"), "Zg==");
  EXPECT_EQ(encode("fo"), "Zm8=");
  EXPECT_EQ(encode("foo"), "Zm9v");
  EXPECT_EQ(encode("foobar"), "Zm9vYmFy");
}

TEST(SourceLines, TakeTheInnermostFrame) {
  const auto line = innermost_frame(
      "File \"/a/model.py\", line 3, in forward\n    x = self.body(x)\n"
      "File \"/a/body.py\", line 12, in forward\n    return self.conv(x)\n");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->file, "/a/body.py");
  EXPECT_EQ(line->line, 12);
  EXPECT_EQ(line->text, "return self.conv(x)");
  EXPECT_FALSE(innermost_frame("no frame"));
}

TEST(SourceLines, LeaveOutPyTorchsOwnFrames) {
  const auto line = innermost_frame(
      "File \"/a/nets.py\", line 5, in forward\n    return self.norm(x)\n"
      "File \"/usr/lib/python3/dist-packages/torch/nn/modules/batchnorm.py\", line 210, in "
      "forward\n"
      "    return F.batch_norm(\n");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->file, "/a/nets.py");
  EXPECT_EQ(line->text, "return self.norm(x)");
}

TEST(SourceLines, ShowNoFileThatIsNoPythonOrHasOtherLines) {
  SourceLines sources;
  EXPECT_TRUE(sources.add("File \"/etc/passwd\", line 1, in f\n    root\n"));
  struct Nothing {
    bool touched = false;
    static Nothing object() { return {}; }
    Nothing& operator[](const std::string&) {
      touched = true;
      return *this;
    }
    Nothing& operator=(const std::string&) { return *this; }
  };
  EXPECT_FALSE(sources.json<Nothing>().touched);
}

Tensor floats(Shape shape, const std::vector<float>& values) {
  Tensor tensor = make_tensor("x", DType::f32, std::move(shape));
  std::ranges::copy(values, elements<float>(tensor).begin());
  return tensor;
}

TEST(TensorDetail, NamesTheWorstElementAndChannel) {
  const Tensor reference = floats({1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  const Tensor candidate = floats({1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 9});
  const TensorDetail detail = describe_detail(reference, candidate);
  EXPECT_THAT(detail.worst, ElementsAre(0, 1, 1, 1));
  EXPECT_EQ(detail.worst_reference, 7);
  EXPECT_EQ(detail.worst_candidate, 9);
  EXPECT_EQ(detail.mean_abs_error, 0.25);
  EXPECT_THAT(detail.channel_error, ElementsAre(0, 1));
  EXPECT_EQ(detail.low, 0);
  EXPECT_EQ(detail.high, 9);
  EXPECT_EQ(std::accumulate(detail.error.begin(), detail.error.end(), 0U), 8U);
  ASSERT_EQ(detail.slices.size(), 2);
  EXPECT_EQ(detail.slices[0].label, "[0,1,:,:]");  // the worst plane first
  EXPECT_THAT(detail.slices[0].difference, ElementsAre(128, 128, 128, 255));
  EXPECT_THAT(detail.slices[1].reference, ElementsAre(0, 85, 170, 255));
}

TEST(TensorDetail, HoldsScalarsEmptyAndNonFiniteTensors) {
  EXPECT_EQ(describe_detail(floats({}, {1}), floats({}, {2})).worst_candidate, 2);
  EXPECT_TRUE(describe_detail(floats({0, 3}, {}), floats({0, 3}, {})).slices.empty());
  const TensorDetail nan = describe_detail(floats({3}, {1, 2, 3}), floats({3}, {1, NAN, 9}));
  EXPECT_THAT(nan.worst, ElementsAre(1));
  EXPECT_EQ(nan.high, 9);
}

TEST(TensorDetail, LargePlanesAreReduced) {
  const std::vector<float> values(100 * 60, 1);
  const TensorDetail detail = describe_detail(floats({100, 60}, values), floats({100, 60}, values));
  EXPECT_EQ(detail.slices.at(0).rows, 40);
  EXPECT_EQ(detail.slices.at(0).columns, 40);
  EXPECT_EQ(detail.slices.at(0).label, "[:,:] of 100 x 60");
}

TEST(Detail, ChoicesAreRead) {
  EXPECT_EQ(parse_detail("worst:7").count, 7);
  EXPECT_EQ(parse_detail("all").which, DetailChoice::Which::all);
  EXPECT_EQ(parse_detail("none").which, DetailChoice::Which::none);
  for (const char* wrong : {"", "worst", "worst:", "worst:x", "worst:3x", "some"})
    EXPECT_THROW(parse_detail(wrong), Error) << wrong;
}

}  // namespace
}  // namespace vernier
