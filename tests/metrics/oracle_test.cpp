#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "tests/oracle/numpy.h"
#include "vernier/metrics/kernels.h"
#include "vernier/metrics/similarity.h"

namespace vernier {
namespace {

// The cases that tests/oracle/metrics_cases.py writes, one after the other.
class Cases {
 public:
  explicit Cases(const std::string& kind, const std::string& python)
      : pipe_(popen((python + " " + VERNIER_FIXTURES "/../oracle/metrics_cases.py " + kind).c_str(),
                    "r"),
              pclose) {}

  // The line that starts a case; nothing after the last.
  std::optional<std::istringstream> next() {
    std::string line;
    for (int c; (c = fgetc(pipe_.get())) != '\n'; line += static_cast<char>(c))
      if (c == EOF) return std::nullopt;
    ++count_;
    return std::istringstream(line);
  }

  template <typename T>
  std::vector<T> read(std::size_t count) {
    std::vector<T> data(count);
    if (fread(data.data(), sizeof(T), count, pipe_.get()) != count)
      throw std::runtime_error("metrics_cases.py stopped in the middle of a case");
    return data;
  }

  int count() const { return count_; }

 private:
  std::unique_ptr<FILE, int (*)(FILE*)> pipe_;
  int count_ = 0;
};

struct Case {
  std::string description;
  Tensor reference, candidate;
  std::vector<double> floats;
  std::vector<std::int64_t> integers;
};

Case read_pair(std::istringstream line, Cases& cases) {
  std::string name, reference, candidate;
  std::int64_t count = 0;
  std::size_t reference_bytes = 0, candidate_bytes = 0;
  line >> name >> reference >> candidate >> count >> reference_bytes >> candidate_bytes;
  Case result{.description = line.str()};
  result.reference = {
      "r", *parse_dtype(reference), {count}, cases.read<std::byte>(reference_bytes)};
  result.candidate = {
      "c", *parse_dtype(candidate), {count}, cases.read<std::byte>(candidate_bytes)};
  result.floats = cases.read<double>(16);
  result.integers = cases.read<std::int64_t>(5);
  return result;
}

// Bits, except that any NaN equals any other.
bool same(double left, double right) {
  if (std::isnan(left) || std::isnan(right)) return std::isnan(left) && std::isnan(right);
  return std::bit_cast<std::uint64_t>(left) == std::bit_cast<std::uint64_t>(right);
}

void expect_numpys_sums(const Case& expected, const PairSums& sums) {
  const double floats[] = {sums.reference_squares,  sums.candidate_squares, sums.products,
                           sums.difference_squares, sums.abs_differences,   sums.max_abs_reference,
                           sums.max_abs_difference};
  const std::vector<std::int64_t> integers = {sums.max_abs_difference_index, sums.reference_nan,
                                              sums.reference_inf, sums.candidate_nan,
                                              sums.candidate_inf};
  for (std::size_t i = 0; i < std::size(floats); ++i)
    EXPECT_TRUE(same(floats[i], expected.floats[i]))
        << expected.description << ": sum " << i << " is " << floats[i] << ", numpy says "
        << expected.floats[i];
  EXPECT_EQ(integers, expected.integers) << expected.description;
}

// BLAS adds up in an order of its own, which depends on the CPU. Whatever the order, the rounding
// error of a sum of n products is at most n * eps * sum |r*c|, and sum |r*c| <= |r| |c|: n * eps in
// the cosine. Two sums may err, and the norms add as much.
void expect_blas_cosine(const Case& expected, double cosine) {
  const double blas = expected.floats[13];
  const double tolerance = 0x1p-52 * (4 + 2 * static_cast<double>(expected.reference.size()));
  EXPECT_TRUE(same(cosine, blas) || std::abs(cosine - blas) <= tolerance)
      << expected.description << ": cosine is " << cosine << ", BLAS says " << blas;
}

void expect_numpys_metrics(const Case& expected, const Similarity& result) {
  const double floats[] = {result.sqnr_db, result.psnr_db,       result.cosine_similarity,
                           result.mse,     result.mean_abs_diff, result.relative_l2};
  for (std::size_t i = 0; i < std::size(floats); ++i)
    EXPECT_TRUE(same(floats[i], expected.floats[7 + i]))
        << expected.description << ": metric " << i << " is " << floats[i] << ", numpy says "
        << expected.floats[7 + i];
  EXPECT_TRUE(same(result.max_abs_diff, expected.floats[6])) << expected.description;
  EXPECT_TRUE(same(result.max_ulp_diff.value_or(-1), expected.floats[14])) << expected.description;
  EXPECT_TRUE(same(result.p999_ulp_diff.value_or(-1), expected.floats[15])) << expected.description;
  expect_blas_cosine(expected, result.cosine_similarity);
}

TEST(Oracle, pairs_have_numpys_bits_on_every_simd_target) {
  const auto python = oracle::python_with("numpy");
  if (!python) GTEST_SKIP() << "no Python with numpy 2.4";
  Cases cases("pairs", *python);
  while (auto line = cases.next()) {
    const Case expected = read_pair(std::move(*line), cases);
    for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
      hwy::SetSupportedTargetsForTest(target);
      expect_numpys_sums(expected, measure(expected.reference, expected.candidate));
    }
    hwy::SetSupportedTargetsForTest(0);
    expect_numpys_metrics(expected,
                          similarity(expected.reference, expected.candidate, {.ulp = true}));
  }
  EXPECT_GT(cases.count(), 4000);
}

TEST(Oracle, statistics_have_the_bits_of_numpys_mean_and_std) {
  const auto python = oracle::python_with("numpy");
  if (!python) GTEST_SKIP() << "no Python with numpy 2.4";
  Cases cases("statistics", *python);
  while (auto line = cases.next()) {
    std::string name;
    std::size_t count = 0;
    *line >> name >> count;
    const auto values = cases.read<double>(count);
    const auto expected = cases.read<double>(2);
    std::vector<SampleValue> samples;
    for (const double value : values)
      samples.push_back({static_cast<std::int64_t>(samples.size()), value});
    EXPECT_EQ(statistics(samples).mean, expected[0]) << name;
    EXPECT_EQ(statistics(samples).std, expected[1]) << name;
  }
  EXPECT_EQ(cases.count(), 2000);
}

}  // namespace
}  // namespace vernier
