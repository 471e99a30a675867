#include "vernier/data/dataset.h"

#include <gtest/gtest.h>

#include "tests/oracle/numpy.h"

namespace vernier {
namespace {

using Positions = std::vector<std::int64_t>;

TEST(Selection, takes_the_first_in_order) {
  EXPECT_EQ(select_positions(5, {}), (Positions{0, 1, 2, 3, 4}));
  EXPECT_EQ(select_positions(5, {.samples = 3}), (Positions{0, 1, 2}));
}

TEST(Selection, asking_for_more_gives_all) {
  EXPECT_EQ(select_positions(2, {.samples = 9}), (Positions{0, 1}));
}

TEST(Selection, shuffles_as_numpy_does) {
  const auto python = oracle::python_with("numpy");
  if (!python) GTEST_SKIP() << "no Python with numpy 2.4";
  const auto expected =
      oracle::numpy_bytes(*python, {"np.random.default_rng(42).permutation(1000)[:100]",
                                    "np.random.default_rng(7).permutation(50000)"});
  EXPECT_EQ(oracle::bytes_of(select_positions(1000, {.samples = 100, .shuffle = true})),
            expected[0]);
  EXPECT_EQ(oracle::bytes_of(select_positions(50000, {.shuffle = true, .seed = 7})), expected[1]);
}

}  // namespace
}  // namespace vernier
