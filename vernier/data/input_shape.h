#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/tensor/tensor.h"

namespace vernier {

// Throws Error unless one of the inputs has this name; `option` is where the name came from.
void require_input(std::span<const TensorSpec> inputs, const std::string& name,
                   std::string_view option);

// Whether the shape is of these dims, a dynamic one being anything.
bool fits(std::span<const std::int64_t> shape, const std::vector<Dim>& dims);

// The shape without its axes of size 1.
Shape squeezed(Shape shape);

// Throws Error for a shape that names no input or does not fit its spec.
void check_shapes(std::span<const TensorSpec> inputs, const std::map<std::string, Shape>& given);

// The shape of each input: the given one, else its static dims, with dynamic dims 1 unless a given
// shape sets a dim of the same name. Throws Error as check_shapes() does, for a shape that is too
// large to make, and for an input of unknown rank without one.
std::vector<Shape> resolve_shapes(std::span<const TensorSpec> inputs,
                                  const std::map<std::string, Shape>& given);

// The same of one input, where the others are already there in the `known` shapes.
Shape resolve_shape(std::size_t input, std::span<const TensorSpec> inputs,
                    const std::map<std::string, Shape>& known);

// The flag that gives an input this shape: "--shape ids=1x128".
std::string shape_option(const std::string& input, std::span<const std::int64_t> shape);

}  // namespace vernier
