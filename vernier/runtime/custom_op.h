#pragma once

#include <cstddef>

struct OrtCustomOp;

namespace vernier {

// Sets what all custom operators of Vernier have in common: version 1 of any execution provider,
// with required inputs and outputs. Names, types and kernels are left to the caller.
void set_common_parts(OrtCustomOp& op);

// Lets output 0 take the buffer of that input where nothing else needs it.
template <int input>
struct OutputInPlaceOf {
  static std::size_t map(int** inputs, int** outputs) {
    *inputs = new int[1]{input};
    *outputs = new int[1]{0};
    return 1;
  }
  static void release(int* inputs, int* outputs) {
    delete[] inputs;
    delete[] outputs;
  }
};

}  // namespace vernier
