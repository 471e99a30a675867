#include "vernier/data/samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "vernier/error.h"

namespace vernier {
namespace {

// Some of the samples, at the places that a function gives.
class ChosenSamples : public Samples {
 public:
  using Place = std::function<std::int64_t(std::int64_t index)>;

  ChosenSamples(Samples& all, std::int64_t count, Place place)
      : all_(all), count_(count), place_(std::move(place)) {}
  std::int64_t size() const override { return count_; }
  std::vector<Tensor> sample(std::int64_t index) override { return all_.sample(place_(index)); }
  std::optional<Tensor> labels(std::int64_t index) override { return all_.labels(place_(index)); }
  std::int64_t number(std::int64_t index) const override { return all_.number(place_(index)); }

 protected:
  Samples& all_;

 private:
  std::int64_t count_;
  Place place_;
};

// Consecutive samples, which keep the alternatives of all.
class SampleWindow : public ChosenSamples {
 public:
  SampleWindow(Samples& all, std::int64_t first, std::int64_t count,
               std::unique_ptr<Samples> owned = nullptr)
      : ChosenSamples(all, count, [first](std::int64_t index) { return first + index; }),
        owned_(std::move(owned)) {}
  Samples* others() override { return all_.others(); }

 private:
  std::unique_ptr<Samples> owned_;  // null if the caller owns the samples
};

}  // namespace

std::unique_ptr<Samples> select_samples(std::unique_ptr<Samples> all, std::int64_t first,
                                        std::int64_t count) {
  if (first < 0 || count < 0 || first > all->size() || count > all->size() - first)
    throw Error(
        fmt::format("[inputs] {} samples available, {} requested{}; pass a smaller --samples or "
                    "--sample-index",
                    all->size(), count, first > 0 ? fmt::format(" from number {}", first) : ""));
  Samples& samples = *all;
  return std::make_unique<SampleWindow>(samples, first, count, std::move(all));
}

std::unique_ptr<Samples> first_samples(Samples& all, std::int64_t most) {
  return std::make_unique<SampleWindow>(all, 0, std::min(most, all.size()));
}

std::unique_ptr<Samples> spread_samples(Samples& all, std::int64_t most, std::int64_t steps) {
  const std::int64_t sequences = all.size() / steps, chosen = std::min(most, sequences);
  const std::int64_t gaps = std::max<std::int64_t>(chosen - 1, 1);
  return std::make_unique<ChosenSamples>(all, chosen * steps, [=](std::int64_t index) {
    return index / steps * (sequences - 1) / gaps * steps + index % steps;
  });
}

}  // namespace vernier
