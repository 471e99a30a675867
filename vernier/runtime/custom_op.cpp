#include "vernier/runtime/custom_op.h"

#include <onnxruntime_cxx_api.h>

namespace vernier {

OrtStatus* status_of(const std::function<void()>& work) noexcept {
  try {
    work();
    return nullptr;
  } catch (const std::exception& error) {
    return Ort::GetApi().CreateStatus(ORT_FAIL, error.what());
  }
}

void set_common_parts(OrtCustomOp& op) {
  op.version = ORT_API_VERSION;
  op.GetExecutionProviderType = [](const OrtCustomOp*) -> const char* { return nullptr; };
  op.GetInputCharacteristic = [](const OrtCustomOp*, std::size_t) { return INPUT_OUTPUT_REQUIRED; };
  op.GetOutputCharacteristic = op.GetInputCharacteristic;
  op.GetInputMemoryType = [](const OrtCustomOp*, std::size_t) { return OrtMemTypeDefault; };
  op.GetVariadicInputMinArity = [](const OrtCustomOp*) { return 1; };
  op.GetVariadicOutputMinArity = op.GetVariadicInputMinArity;
  op.GetVariadicInputHomogeneity = op.GetVariadicInputMinArity;
  op.GetVariadicOutputHomogeneity = op.GetVariadicInputMinArity;
  op.GetStartVersion = [](const OrtCustomOp*) { return 1; };
  op.GetEndVersion = op.GetStartVersion;
}

}  // namespace vernier
