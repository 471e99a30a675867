#pragma once

#include <cstddef>

struct OrtCustomOp;

namespace vernier {

// Sets the fields that all custom operators of Vernier share: operator version 1, any execution
// provider, required inputs and outputs. The caller sets names, types and kernels.
void set_common_parts(OrtCustomOp& op);

// Lets output 0 reuse the buffer of input number `input` if nothing else reads that buffer.
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
