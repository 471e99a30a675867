#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "vernier/data/samples.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

enum class Distribution { uniform, normal };

// Integers are drawn from [low, high). Floats are random * (high - low) + low in float32, so
// rounding may give `high` itself.
struct DrawRange {
  double low = 0;
  double high = 1;
  bool operator==(const DrawRange&) const = default;
};

struct RandomOptions {
  std::int64_t samples = 1;
  std::uint64_t seed = 42;
  std::map<std::string, Shape> shapes;                // by input; see resolve_shapes()
  std::map<std::string, DrawRange> ranges;            // by input
  std::map<std::string, std::int64_t> index_lengths;  // index inputs are drawn from [0, length)
  Distribution distribution = Distribution::uniform;  // of floats
};

// How one input is drawn.
struct InputDraw {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  DrawRange range;
  Distribution distribution = Distribution::uniform;  // normal ignores the range
  bool operator==(const InputDraw&) const = default;
};

// The draw of each input. A shape given for one input also sets the dynamic dims with the same
// symbol in others. Integers without a range or index length are drawn from [0, 2). Throws Error
// for a shape or range that names no input, or does not fit the input's dims or dtype.
std::vector<InputDraw> plan_draws(std::span<const TensorSpec> inputs, const RandomOptions& options);

// Identifies a draw: it uses numpy's default_rng([seed, sample, input]).
struct DrawKey {
  std::uint64_t seed = 42;
  std::int64_t sample = 0;
  std::int64_t input = 0;  // position among the model's inputs
};

// Floats are drawn as float32 and then converted, so that an input is the same in every precision.
Tensor draw(const InputDraw& input, const DrawKey& key);

std::unique_ptr<Samples> random_samples(std::span<const TensorSpec> inputs,
                                        const RandomOptions& options);

}  // namespace vernier
