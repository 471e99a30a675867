#pragma once

namespace vernier {

// Ends every run of ONNX Runtime that is under way in this process: it throws Error. For a Ctrl-C
// that cannot wait for the end of a sample.
void interrupt_runs();

}  // namespace vernier
