#include "vernier/data/samples.h"

#include <fmt/format.h>

#include <algorithm>

#include "vernier/error.h"

namespace vernier {
namespace {

class SampleWindow : public Samples {
 public:
  SampleWindow(Samples& all, std::int64_t first, std::int64_t count,
               std::unique_ptr<Samples> owned = nullptr)
      : owned_(std::move(owned)), all_(all), first_(first), count_(count) {}

  std::int64_t size() const override { return count_; }
  std::vector<Tensor> sample(std::int64_t index) override { return all_.sample(first_ + index); }
  std::optional<Tensor> labels(std::int64_t index) override { return all_.labels(first_ + index); }
  std::int64_t number(std::int64_t index) const override { return all_.number(first_ + index); }
  Samples* others() override { return all_.others(); }

 private:
  std::unique_ptr<Samples> owned_;  // null if the caller owns the samples
  Samples& all_;
  std::int64_t first_;
  std::int64_t count_;
};

class SpreadSamples : public Samples {
 public:
  SpreadSamples(Samples& all, std::int64_t most, std::int64_t steps)
      : all_(all),
        steps_(steps),
        sequences_(all.size() / steps),
        chosen_(std::min(most, sequences_)) {}

  std::int64_t size() const override { return chosen_ * steps_; }
  std::vector<Tensor> sample(std::int64_t index) override { return all_.sample(place(index)); }
  std::optional<Tensor> labels(std::int64_t index) override { return all_.labels(place(index)); }
  std::int64_t number(std::int64_t index) const override { return all_.number(place(index)); }

 private:
  std::int64_t place(std::int64_t index) const {
    const std::int64_t gaps = std::max<std::int64_t>(chosen_ - 1, 1);
    return index / steps_ * (sequences_ - 1) / gaps * steps_ + index % steps_;
  }

  Samples& all_;
  std::int64_t steps_, sequences_, chosen_;
};

}  // namespace

std::unique_ptr<Samples> select_samples(std::unique_ptr<Samples> all, std::int64_t first,
                                        std::int64_t count) {
  if (first < 0 || count < 0 || first > all->size() || count > all->size() - first)
    throw Error(
        fmt::format("[inputs] {} samples from number {} were asked for, there are {}; pass "
                    "a smaller --samples or --sample-index",
                    count, first, all->size()));
  Samples& samples = *all;
  return std::make_unique<SampleWindow>(samples, first, count, std::move(all));
}

std::unique_ptr<Samples> first_samples(Samples& all, std::int64_t most) {
  return std::make_unique<SampleWindow>(all, 0, std::min(most, all.size()));
}

std::unique_ptr<Samples> spread_samples(Samples& all, std::int64_t most, std::int64_t steps) {
  return std::make_unique<SpreadSamples>(all, most, steps);
}

}  // namespace vernier
