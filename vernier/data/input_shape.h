#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// Throws Error unless one of the inputs has this name. `option` is the flag that gave the name.
void require_input(std::span<const TensorSpec> inputs, const std::string& name,
                   std::string_view option);

// Whether the shape matches the dims; a dynamic dim matches any size.
bool fits(std::span<const std::int64_t> shape, const std::vector<Dim>& dims);

// The shape without its axes of size 1.
Shape squeezed(Shape shape);

// Throws Error for a shape that names no input or does not fit its spec.
void check_shapes(std::span<const TensorSpec> inputs, const std::map<std::string, Shape>& given);

// The shape of each input: the given one, else its declared dims. A dynamic dim is 1, unless a
// given shape sets a dim with the same symbol; a symbol "a + b" is the sum of both. Throws Error as
// check_shapes() does, for a shape that is too large, and for an input of unknown rank without a
// given shape.
std::vector<Shape> resolve_shapes(std::span<const TensorSpec> inputs,
                                  const std::map<std::string, Shape>& given);

// The shape of one input, as in resolve_shapes(), given the `known` shapes of others.
Shape resolve_shape(std::size_t input, std::span<const TensorSpec> inputs,
                    const std::map<std::string, Shape>& known);

// The flag that sets an input's shape: "--shape ids=1x128".
std::string shape_option(const std::string& input, std::span<const std::int64_t> shape);

}  // namespace vernier
