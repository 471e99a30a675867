#include "vernier/report/quantize.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(QuantizeReport, doubts_about_the_data_come_first) {
  EXPECT_THAT(with_doubts({}, {"few"}), ElementsAre("few"));
  EXPECT_THAT(with_doubts({.synthetic = true}, {"few"}),
              ElementsAre(HasSubstr("nothing shows whether they are like real ones"), "few"));
  EXPECT_THAT(with_doubts({.synthetic = true, .fit = NormFit{.score = 0.1, .norms = 30}}, {}),
              ElementsAre(HasSubstr("like those of training")));
}

}  // namespace
}  // namespace vernier
