#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

class Runner;

// The float parameters of a runner, which must outlive this, by their size: what a candidate's
// constant was rounded from is among those of as many elements.
class FloatParameters {
 public:
  explicit FloatParameters(const Runner& runner);

  // In float32, read when they are first asked for.
  const std::vector<Tensor>& of_size(std::int64_t elements);
  // Whether none is stored in less than float32.
  bool are_wide() const { return are_wide_; }

 private:
  const Runner& runner_;
  std::map<std::int64_t, std::vector<std::string>> names_;
  std::map<std::int64_t, std::vector<Tensor>> read_;
  bool are_wide_ = true;
};

}  // namespace vernier
