#include "vernier/analysis/decoding/teacher.h"

#include <algorithm>

#include "vernier/analysis/decoding/decoder_inputs.h"
#include "vernier/tensor/convert.h"

namespace vernier {

std::vector<Tensor> Teacher::run(std::span<const std::int64_t> tokens, std::int64_t past,
                                 std::span<const Tensor> caches) {
  const std::vector<TensorSpec>& inputs = runner.inputs();
  return runner.run(
      decoder_inputs(decoder, inputs, {tokens, past}, caches_for(decoder, inputs, caches)));
}

Teacher open_teacher(const InputTarget& target, const Decoder& own) {
  const Model& model = target.teacher ? *target.teacher : *target.onnx;
  auto decoder = target.teacher ? find_decoder(model) : own;
  // A teacher without the same number of caches cannot fill them: the model is then its own.
  const bool fits = decoder && decoder->caches.size() == own.caches.size();
  return {fits ? *decoder : own, OrtRunner((fits ? model : *target.onnx).clone())};
}

std::vector<Tensor> caches_for(const Decoder& decoder, std::span<const TensorSpec> inputs,
                               std::span<const Tensor> teachers) {
  std::vector<Tensor> caches(teachers.begin(), teachers.end());
  for (std::size_t i = 0; i < std::min(caches.size(), decoder.caches.size()); ++i) {
    const std::string& name = decoder.caches[i].input;
    const auto same = std::ranges::find(teachers, name, &Tensor::name);
    if (same != teachers.end()) caches[i] = *same;
    const auto spec = std::ranges::find(inputs, name, &TensorSpec::name);
    if (spec != inputs.end() && spec->dtype != caches[i].dtype)
      caches[i] = convert(caches[i], spec->dtype);
    caches[i].name = name;
  }
  return caches;
}

}  // namespace vernier
