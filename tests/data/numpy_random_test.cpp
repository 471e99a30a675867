#include "vernier/data/numpy_random.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "tests/oracle/numpy.h"

namespace vernier {
namespace {

using oracle::Bytes;
using oracle::bytes_of;

// Expressions beside what we say they are; compared in one run of numpy.
struct Claims {
  std::vector<std::string> expressions;
  std::vector<Bytes> values;

  template <typename T>
  void add(std::string expression, const std::vector<T>& ours) {
    expressions.push_back(std::move(expression));
    values.push_back(bytes_of(ours));
  }
  void check() const {
    const auto python = oracle::python_with("numpy");
    if (!python) GTEST_SKIP() << "no Python with numpy 2.4";
    const std::vector<Bytes> expected = oracle::numpy_bytes(*python, expressions);
    for (std::size_t i = 0; i < expressions.size(); ++i)
      EXPECT_TRUE(values[i] == expected[i]) << expressions[i];
  }
};

NumpyRandom rng(std::vector<std::uint64_t> entropy) { return NumpyRandom(entropy); }

const std::vector<std::vector<std::uint64_t>> entropies = {
    {42, 0, 0},         {42, 99, 3}, {0, 0, 0},       {1u << 31, 7, 1},
    {1ull << 33, 5, 0}, {~0ull, 1},  {1, 2, 3, 4, 5}, {1ull << 63, 1u << 30, 2, ~0ull}};

std::string call(const std::vector<std::uint64_t>& entropy) {
  return fmt::format("rng({})", fmt::join(entropy, ","));
}

TEST(NumpyRandom, uniform_floats_are_numpys) {
  Claims claims;
  for (const auto& entropy : entropies) {
    claims.add(call(entropy) + ".random(1001, dtype=np.float32)", rng(entropy).random<float>(1001));
    claims.add(call(entropy) + ".random(1001)", rng(entropy).random<double>(1001));
  }
  claims.check();
}

TEST(NumpyRandom, a_hundred_samples_are_numpys) {
  Claims claims;
  for (std::uint64_t sample = 0; sample < 100; ++sample)
    claims.add(fmt::format("rng(42,{},1).random(33, dtype=np.float32)", sample),
               rng({42, sample, 1}).random<float>(33));
  claims.check();
}

// Long enough to reach the wedges and the tail of the ziggurat many times.
TEST(NumpyRandom, normal_floats_are_numpys) {
  Claims claims;
  for (const auto& entropy : entropies) {
    claims.add(call(entropy) + ".standard_normal(100000, dtype=np.float32)",
               rng(entropy).standard_normal<float>(100000));
    claims.add(call(entropy) + ".standard_normal(100000)",
               rng(entropy).standard_normal<double>(100000));
  }
  claims.check();
}

template <typename T>
void claim_integers(Claims& claims, const std::string& dtype) {
  using Limits = std::numeric_limits<T>;
  const std::vector<std::pair<T, T>> ranges = {{0, 0},
                                               {0, 1},
                                               {0, 2},
                                               {1, 100},
                                               {3, 126},
                                               {Limits::min(), Limits::max()},
                                               {0, Limits::max()},
                                               {Limits::min(), static_cast<T>(Limits::max() - 1)},
                                               {static_cast<T>(Limits::max() / 2), Limits::max()}};
  for (const auto& entropy : entropies)
    for (const auto& [low, last] : ranges)
      claims.add(fmt::format("{}.integers({}, {}, 777, dtype=np.{}, endpoint=True)", call(entropy),
                             low, last, dtype),
                 rng(entropy).integers<T>(low, last, 777));
}

TEST(NumpyRandom, integers_of_every_width_and_range_are_numpys) {
  Claims claims;
  claim_integers<std::int8_t>(claims, "int8");
  claim_integers<std::int16_t>(claims, "int16");
  claim_integers<std::int32_t>(claims, "int32");
  claim_integers<std::int64_t>(claims, "int64");
  claim_integers<std::uint8_t>(claims, "uint8");
  claim_integers<std::uint16_t>(claims, "uint16");
  claim_integers<std::uint32_t>(claims, "uint32");
  claim_integers<std::uint64_t>(claims, "uint64");
  claims.check();
}

TEST(NumpyRandom, wide_ranges_that_need_rejection_are_numpys) {
  Claims claims;
  for (const std::int64_t last : {0xfffffffell, 0xffffffffll, 0x100000000ll, 0x7ffffffffffll})
    claims.add(fmt::format("rng(7,8).integers(-3, {}, 5000, endpoint=True)", last - 3),
               rng({7, 8}).integers<std::int64_t>(-3, last - 3, 5000));
  claims.add("rng(7,8).integers(0, 3 << 61, 5000, dtype=np.uint64)",
             rng({7, 8}).integers<std::uint64_t>(0, (3ull << 61) - 1, 5000));
  claims.check();
}

TEST(NumpyRandom, booleans_are_numpys) {
  Claims claims;
  for (const auto& entropy : entropies)
    claims.add(call(entropy) + ".integers(0, 2, 1001, dtype=bool)", rng(entropy).booleans(1001));
  claims.check();
}

TEST(NumpyRandom, permutations_are_numpys) {
  Claims claims;
  for (const auto& entropy : entropies)
    for (const std::int64_t count : {0, 1, 2, 10, 1000})
      claims.add(fmt::format("{}.permutation({})", call(entropy), count),
                 rng(entropy).permutation(count));
  claims.check();
}

// Draws of different kinds share one stream: half a 64-bit draw is kept for the next 32-bit one.
TEST(NumpyRandom, draws_in_turn_share_the_stream_as_numpys_do) {
  NumpyRandom generator = rng({42, 0, 0});
  std::vector<double> ours;
  for (const float value : generator.random<float>(3)) ours.push_back(value);
  for (const double value : generator.random<double>(2)) ours.push_back(value);
  for (const std::int8_t value : generator.integers<std::int8_t>(0, 9, 3)) ours.push_back(value);
  for (const float value : generator.standard_normal<float>(2)) ours.push_back(value);
  Claims claims;
  claims.add(
      "(lambda g: np.concatenate([g.random(3, dtype=np.float32).astype(float), g.random(2), "
      "g.integers(0, 10, 3, dtype=np.int8).astype(float), "
      "g.standard_normal(2, dtype=np.float32).astype(float)]))(rng(42,0,0))",
      ours);
  claims.check();
}

// What numpy 1.24 printed, for machines without it.
TEST(NumpyRandom, known_values_hold_without_numpy) {
  using std::vector;
  const vector<std::uint64_t> entropy = {42, 0, 0};
  EXPECT_EQ(rng(entropy).random<double>(2),
            (vector<double>{0.7739560485559633, 0.4388784397520523}));
  EXPECT_EQ(rng(entropy).random<float>(2),
            (vector<float>{0.08925092220306396f, 0.7739560008049011f}));
  EXPECT_EQ(rng(entropy).standard_normal<float>(2),
            (vector<float>{0.14190717041492462f, -1.6685079336166382f}));
  EXPECT_EQ(rng(entropy).integers<std::int64_t>(0, 9, 8),
            (vector<std::int64_t>{0, 7, 6, 4, 4, 8, 0, 6}));
  EXPECT_EQ(rng(entropy).integers<std::uint8_t>(0, 9, 8),
            (vector<std::uint8_t>{5, 1, 8, 0, 9, 1, 7, 7}));
  EXPECT_EQ(rng(entropy).permutation(8), (vector<std::int64_t>{3, 4, 2, 7, 6, 1, 5, 0}));
}

}  // namespace
}  // namespace vernier
