#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// A sequence of samples: each is one set of inputs, in the order of the model's inputs. Random,
// recorded or from a dataset.
class Samples {
 public:
  virtual ~Samples() = default;
  virtual std::int64_t size() const = 0;
  // The inputs of one sample. Any order is allowed; ascending order is the fast one.
  virtual std::vector<Tensor> sample(std::int64_t index) = 0;
  // The labels of the sample's examples, "label" [examples]; nothing where they have none.
  virtual std::optional<Tensor> labels(std::int64_t /*index*/) { return std::nullopt; }
  // The number a sample is known by: its index, unless only some of a longer sequence are used.
  virtual std::int64_t number(std::int64_t index) const { return index; }
  // Others that serve nearly as well: what holds for these alone is chance. Null: there are none.
  virtual Samples* others() { return nullptr; }
};

// `count` of the samples, from `first`. Throws Error if there are not so many.
std::unique_ptr<Samples> select_samples(std::unique_ptr<Samples> all, std::int64_t first,
                                        std::int64_t count);

// At most `most` of the samples, which must outlive them.
std::unique_ptr<Samples> first_samples(Samples& all, std::int64_t most);

}  // namespace vernier
