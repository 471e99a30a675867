#pragma once

#include <cstddef>
#include <span>

namespace vernier {

// Sums a range in the order of numpy 2.4: ranges longer than `limit` are halved at a multiple of 8;
// term(begin, count) sums shorter ones. The order is numpy's for any limit of 128 or more, if
// term() continues in the same way down to 128.
template <typename Term>
auto sum_pairwise(std::size_t begin, std::size_t count, std::size_t limit, const Term& term) {
  if (count <= limit) return term(begin, count);
  const std::size_t half = count / 2 / 8 * 8;
  const auto first = sum_pairwise(begin, half, limit, term);
  return first + sum_pairwise(begin + half, count - half, limit, term);
}

// np.sum of numpy 2.4, bit for bit.
inline double pairwise_sum(std::span<const double> values) {
  const auto leaf = [&](std::size_t begin, std::size_t count) {
    const double* value = values.data() + begin;
    const std::size_t strided = count / 8 * 8;
    double lanes[8] = {};
    for (std::size_t i = 0; i < strided; ++i) lanes[i % 8] += value[i];
    double sum = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
                 ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
    for (std::size_t i = strided; i < count; ++i) sum += value[i];
    return sum;
  };
  return sum_pairwise(0, values.size(), 128, leaf);
}

}  // namespace vernier
