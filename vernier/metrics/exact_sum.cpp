#include "vernier/metrics/exact_sum.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace vernier {
namespace {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 UInt128;

// Little endian, base 2^32.
using Natural = std::vector<std::uint32_t>;

Natural natural(std::int64_t value) {
  return {static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32)};
}

Natural multiply(const Natural& left, const Natural& right) {
  Natural product(left.size() + right.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    std::uint64_t carry = 0;
    for (std::size_t j = 0; j < right.size(); ++j) {
      carry += std::uint64_t{left[i]} * right[j] + product[i + j];
      product[i + j] = static_cast<std::uint32_t>(carry);
      carry >>= 32;
    }
    product[i + right.size()] = static_cast<std::uint32_t>(carry);
  }
  return product;
}

// left - right, which is not negative.
Natural subtract(Natural left, const Natural& right) {
  left.resize(std::max(left.size(), right.size()));
  std::int64_t borrow = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    borrow += std::int64_t{left[i]} - (i < right.size() ? std::int64_t{right[i]} : 0);
    left[i] = static_cast<std::uint32_t>(borrow);
    borrow >>= 32;
  }
  return left;
}

// digits * 2^(32 * exponent), and a little more if inexact: less than one unit of the last digit.
struct Scaled {
  Natural digits;
  int exponent = 0;
  bool inexact = false;
};

// The same number with room for fractions below.
Scaled extend(Scaled number, int words) {
  number.digits.insert(number.digits.begin(), static_cast<std::size_t>(words), 0);
  number.exponent -= words;
  return number;
}

Scaled divide(Scaled number, std::int64_t divisor) {
  const auto by = static_cast<UInt128>(divisor);
  UInt128 remainder = 0;
  for (auto digit = number.digits.rbegin(); digit != number.digits.rend(); ++digit) {
    remainder = remainder << 32 | *digit;
    *digit = static_cast<std::uint32_t>(remainder / by);
    remainder %= by;
  }
  number.inexact |= remainder != 0;
  return number;
}

// The first 126 to 128 bits of a number: bits * 2^exponent, with an even exponent, and a little
// more if inexact.
struct Head {
  UInt128 bits = 0;
  int exponent = 0;
  bool inexact = false;
};

Head head(const Scaled& number) {
  const Natural& digits = number.digits;
  const auto top = std::find_if(digits.rbegin(), digits.rend(), [](auto digit) { return digit; });
  const auto size = digits.rend() - top;
  if (size == 0) return {};
  const auto word = [&](int i) { return i < size ? top[i] : 0u; };
  const int shift = std::countl_zero(word(0)) & ~1;
  const std::uint64_t fifth = std::uint64_t{word(4)} << shift;
  Head result{.exponent = 32 * (number.exponent + static_cast<int>(size) - 4) - shift};
  for (int i = 0; i < 4; ++i) result.bits = result.bits << 32 | word(i);
  result.bits = result.bits << shift | fifth >> 32;
  result.inexact =
      number.inexact || static_cast<std::uint32_t>(fifth) != 0 ||
      (size > 5 && std::any_of(top + 5, digits.rend(), [](auto digit) { return digit; }));
  return result;
}

std::uint64_t floor_sqrt(UInt128 value) {
  std::uint64_t root = 0;
  for (int bit = 63; bit >= 0; --bit) {
    const std::uint64_t attempt = root | std::uint64_t{1} << bit;
    if (UInt128{attempt} * attempt <= value) root = attempt;
  }
  return root;
}

// bits * 2^exponent to the nearest double, ties to even. The last of the 55 or more bits stands for
// everything below it, so one rounding is enough, in the subnormal range too.
double round(std::uint64_t bits, int exponent, bool inexact) {
  static_assert(std::numeric_limits<long double>::digits >= 64);
  return static_cast<double>(
      std::ldexp(static_cast<long double>(bits | std::uint64_t{inexact}), exponent));
}

double round(const Head& number) {
  const auto low = static_cast<std::uint64_t>(number.bits);
  return round(static_cast<std::uint64_t>(number.bits >> 64), number.exponent + 64,
               number.inexact || low != 0);
}

double round_sqrt(const Head& number) {
  const std::uint64_t root = floor_sqrt(number.bits);
  return round(root, number.exponent / 2, number.inexact || UInt128{root} * root != number.bits);
}

}  // namespace

void ExactSum::add(double value) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  add_scaled(static_cast<std::int64_t>(std::ldexp(fraction, 53)), exponent - 53);
}

void ExactSum::add_square(double value) {
  int exponent = 0;
  const auto digits = static_cast<std::int64_t>(std::ldexp(std::frexp(value, &exponent), 53));
  const Int128 square = Int128{digits} * digits;
  const int unit = 2 * (exponent - 53);
  add_scaled(static_cast<std::int64_t>(square & ((Int128{1} << 53) - 1)), unit);
  add_scaled(static_cast<std::int64_t>(square >> 53), unit + 53);
}

void ExactSum::add(const ExactSum& other) {
  if (other.words_.empty()) return;
  cover(other.first_, other.first_ + static_cast<int>(other.words_.size()));
  for (std::size_t i = 0; i < other.words_.size(); ++i)
    words_[static_cast<std::size_t>(other.first_ - first_) + i] += other.words_[i];
  carry();
}

// value * 2^exponent, |value| <= 2^53.
void ExactSum::add_scaled(std::int64_t value, int exponent) {
  if (value == 0) return;
  const int word = exponent >> 5;
  const Int128 shifted = Int128{value} << (exponent & 31);
  cover(word, word + 3);
  std::int64_t* to = &words_[static_cast<std::size_t>(word - first_)];
  to[0] += static_cast<std::uint32_t>(shifted);
  to[1] += static_cast<std::uint32_t>(shifted >> 32);
  to[2] += static_cast<std::int64_t>(shifted >> 64);
  carry();
}

// Makes room for the words [begin, end).
void ExactSum::cover(int begin, int end) {
  if (words_.empty()) first_ = begin;
  if (begin < first_) {
    words_.insert(words_.begin(), static_cast<std::size_t>(first_ - begin), 0);
    first_ = begin;
  }
  words_.resize(std::max(words_.size(), static_cast<std::size_t>(end - first_)));
}

void ExactSum::carry() {
  constexpr std::int64_t mask = 0xffffffff;
  for (std::size_t i = 0; i + 1 < words_.size(); ++i) {
    words_[i + 1] += words_[i] >> 32;
    words_[i] &= mask;
  }
  const std::int64_t last = words_.back();
  if (last == static_cast<std::int32_t>(last)) return;
  words_.back() &= mask;
  words_.push_back(last >> 32);
}

bool ExactSum::is_negative() const { return !words_.empty() && words_.back() < 0; }

std::vector<std::uint32_t> ExactSum::magnitude() const {
  ExactSum positive = *this;
  if (is_negative()) {
    for (std::int64_t& word : positive.words_) word = -word;
    positive.carry();
  }
  return {positive.words_.begin(), positive.words_.end()};
}

double exact_mean(const ExactSum& sum, std::int64_t count) {
  // 128 bits more than the sum has leave 65 after the division.
  const double mean = round(head(divide(extend({sum.magnitude(), sum.first_}, 4), count)));
  return sum.is_negative() ? -mean : mean;
}

double exact_population_std(const ExactSum& sum, const ExactSum& squares, std::int64_t count) {
  // (count * squares - sum^2) / count^2; both terms are brought to the same exponent.
  const Natural magnitude = sum.magnitude();
  Scaled minuend{multiply(squares.magnitude(), natural(count)), squares.first_};
  Scaled subtrahend{multiply(magnitude, magnitude), 2 * sum.first_};
  const int exponent = std::min(minuend.exponent, subtrahend.exponent);
  const int minuend_shift = minuend.exponent - exponent;
  const int subtrahend_shift = subtrahend.exponent - exponent;
  minuend = extend(std::move(minuend), minuend_shift);
  subtrahend = extend(std::move(subtrahend), subtrahend_shift);
  Scaled variance{subtract(std::move(minuend.digits), subtrahend.digits), exponent};
  // 256 bits more than the difference has leave 130 after two divisions.
  variance = divide(divide(extend(std::move(variance), 8), count), count);
  return round_sqrt(head(variance));
}

}  // namespace vernier
