#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

class ModelIndex;
class Runner;

// The float parameters of a reference, by number of elements: a constant of the candidate was
// rounded from a parameter of its size. The reference must outlive this.
class FloatParameters {
 public:
  explicit FloatParameters(const Runner& runner);
  explicit FloatParameters(const ModelIndex& model);

  // Converted to float32, and read on first use.
  const std::vector<Tensor>& of_size(std::int64_t elements);
  // Whether all are stored in float32 or wider.
  bool are_wide() const { return are_wide_; }

 private:
  const Runner* runner_ = nullptr;  // one of the two
  const ModelIndex* model_ = nullptr;
  std::map<std::int64_t, std::vector<std::string>> names_;
  std::map<std::int64_t, std::vector<Tensor>> read_;
  bool are_wide_ = true;
};

}  // namespace vernier
