#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// A sequence of samples, random, recorded or from a dataset. Each is one set of inputs, in the
// order of the model's inputs.
class Samples {
 public:
  virtual ~Samples() = default;
  virtual std::int64_t size() const = 0;
  // The inputs of one sample. Access in any order is allowed; ascending order is fastest.
  virtual std::vector<Tensor> sample(std::int64_t index) = 0;
  // The labels of the sample's examples: a tensor "label" [examples]; nullopt if there are none.
  virtual std::optional<Tensor> labels(std::int64_t /*index*/) { return std::nullopt; }
  // The sample's number in reports: its index, unless this is part of a longer sequence.
  virtual std::int64_t number(std::int64_t index) const { return index; }
  // Alternative samples that serve nearly as well: a finding that they do not confirm may be
  // chance. Null if there are none.
  virtual Samples* others() { return nullptr; }
};

// `count` of the samples, starting at `first`. Throws Error if there are not that many.
std::unique_ptr<Samples> select_samples(std::unique_ptr<Samples> all, std::int64_t first,
                                        std::int64_t count);

// The first `most` samples, or all if there are fewer. `all` must outlive the result.
std::unique_ptr<Samples> first_samples(Samples& all, std::int64_t most);

// At most `most` sequences of `steps` samples each, evenly over all, from the first to the last:
// neighbours may be alike. `all` must outlive the result.
std::unique_ptr<Samples> spread_samples(Samples& all, std::int64_t most, std::int64_t steps = 1);

}  // namespace vernier
