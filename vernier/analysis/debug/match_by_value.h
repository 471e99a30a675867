#pragma once

#include <vector>

#include "vernier/analysis/debug/counterpart.h"
#include "vernier/runtime/ort_options.h"

namespace vernier {

// Tensors agree by value from this SQNR on.
inline constexpr double value_match_db = 15;

// Completes `counterparts`, one for each of the activations: those that have none get the float
// tensor that is most like them on the sample, if any is like them at all and is nobody's
// counterpart yet.
std::vector<Counterpart> match_by_value(const Model& float_model, const Model& quantized_model,
                                        const std::vector<QuantizedActivation>& activations,
                                        std::vector<Counterpart> counterparts,
                                        const std::vector<Tensor>& sample,
                                        const OrtOptions& runtime);

}  // namespace vernier
