#include "vernier/report/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vernier/report/warning.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(QuantizeReport, doubts_about_the_data_come_first) {
  const std::vector<Warning> few = reported({"few"});
  EXPECT_EQ(with_doubts({}, few), few);
  EXPECT_THAT(warning_texts(with_doubts({.synthetic = true}, few)),
              ElementsAre(HasSubstr("nothing shows whether they are like real ones"), "few"));
  EXPECT_THAT(warning_texts(
                  with_doubts({.synthetic = true, .fit = NormFit{.score = 0.1, .norms = 30}}, {})),
              ElementsAre(HasSubstr("like those of training")));
}

}  // namespace
}  // namespace vernier
