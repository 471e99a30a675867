#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/data/small_images.h"
#include "vernier/data/dataset.h"
#include "vernier/error.h"

namespace vernier {

// Grey images of one pixel, encoded; pixel and label count up.
class CountingDataset : public Dataset {
 public:
  explicit CountingDataset(std::int64_t size, std::int64_t window = 1)
      : size_(size), window_(window) {}

  std::int64_t size() const override { return size_; }
  std::int64_t window() const override { return window_; }
  const std::vector<std::string>& classes() const override { return names; }
  std::vector<Example> read(std::span<const std::int64_t> positions) override {
    largest_read = std::max(largest_read, positions.size());
    std::vector<Example> examples;
    for (const std::int64_t position : positions) examples.push_back(example(position));
    return examples;
  }

  std::vector<std::string> names;
  std::vector<std::int64_t> damaged;
  std::vector<std::int64_t> unlabelled;
  std::int64_t fails_at = -1;  // throws when this position is read
  std::size_t largest_read = 0;

 private:
  Example example(std::int64_t position) const {
    if (position == fails_at) throw Error("the disk is gone");
    Example result{.id = fmt::format("#{}", position), .label = position};
    const std::string file = grey_pgm(1, 1, static_cast<int>(position));
    const auto bytes = std::as_bytes(std::span(file));
    result.content = EncodedImage(bytes.begin(), bytes.end());
    if (std::ranges::count(damaged, position)) result.content = EncodedImage{};
    if (std::ranges::count(unlabelled, position)) result.label.reset();
    return result;
  }

  std::int64_t size_;
  std::int64_t window_;
};

}  // namespace vernier
