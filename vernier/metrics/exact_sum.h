#pragma once

#include <cstdint>
#include <vector>

namespace vernier {

// A sum of doubles without any rounding: a fixed-point number as wide as its terms need, a few
// words for values of like size. The order of the terms does not matter, so sums taken apart and
// merged are the same sum.
class ExactSum {
 public:
  void add(double value);         // finite
  void add_square(double value);  // finite; the square is exact too
  void add(const ExactSum& other);

 private:
  friend double exact_mean(const ExactSum&, std::int64_t);
  friend double exact_population_std(const ExactSum&, const ExactSum&, std::int64_t);

  void add_scaled(std::int64_t value, int exponent);
  void cover(int begin, int end);
  void carry();
  bool is_negative() const;
  std::vector<std::uint32_t> magnitude() const;

  // The sum of words_[i] * 2^(32 * (first_ + i)). All words but the last are in [0, 2^32); the last
  // has the sign.
  int first_ = 0;
  std::vector<std::int64_t> words_;
};

// sum / count, correctly rounded; count > 0.
double exact_mean(const ExactSum& sum, std::int64_t count);

// sqrt(squares / count - (sum / count)^2), correctly rounded; count > 0.
double exact_population_std(const ExactSum& sum, const ExactSum& squares, std::int64_t count);

}  // namespace vernier
