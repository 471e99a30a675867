#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vernier/data/dataset.h"

namespace vernier {

// An example prepared for the model, or the reason why it could not be.
struct Prepared {
  std::string id;
  std::optional<std::int64_t> label;
  std::optional<Tensor> input;
  std::optional<Tensor> target;  // [height, width] or [tokens], of int64
  std::string problem;  // why there is no input; empty if the label or target is the reason
};

using Prepare = std::function<Prepared(Example)>;

// Reads and prepares examples ahead of their use: one thread reads, others prepare, at most `ahead`
// examples are held, and next() returns them in order.
class Prefetch {
 public:
  struct Options {
    std::vector<std::int64_t> positions;
    int threads = 1;
    std::size_t ahead = 4;
  };
  // `prepare` is called from several threads at once. The dataset must outlive the Prefetch.
  Prefetch(Dataset& dataset, Prepare prepare, Options options);
  ~Prefetch();

  // The next example; nullopt after the last. Rethrows what reading or preparing threw.
  std::optional<Prepared> next();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vernier
