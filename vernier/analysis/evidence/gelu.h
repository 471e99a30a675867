#pragma once

#include <string>
#include <vector>

#include "vernier/model/index.h"

namespace vernier {

// The two functions that are called GELU.
enum class GeluForm { exact, tanh };

// "none" or "tanh", as PyTorch and ONNX name it.
std::string gelu_form_name(GeluForm form);

// The node that tells a GELU's form: the whole operator, or the Erf or Tanh of a decomposed one.
struct FoundGelu {
  const NodeProto* node = nullptr;
  GeluForm form = GeluForm::exact;
};

// A Tanh counts only if the cubic factor of the approximation is in what it reads.
std::vector<FoundGelu> find_gelus(const GraphIndex& graph);

// The first node with another form where one form has fewer nodes than expected and the other more;
// null if there is none.
const NodeProto* find_other_gelu(std::ptrdiff_t exact, std::ptrdiff_t tanh,
                                 const GraphIndex& graph);

}  // namespace vernier
