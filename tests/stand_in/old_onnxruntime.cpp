// Stands in for an ONNX Runtime that is too old.

#include <onnxruntime_c_api.h>

extern "C" const OrtApiBase* OrtGetApiBase() noexcept {
  static const OrtApiBase base{
      .GetApi = [](uint32_t) noexcept -> const OrtApi* { return nullptr; },
      .GetVersionString = []() noexcept -> const char* { return "1.20.1"; }};
  return &base;
}
