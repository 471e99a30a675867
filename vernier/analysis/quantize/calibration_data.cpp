#include "vernier/analysis/quantize/calibration_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "vernier/analysis/inputs/pick_inputs.h"
#include "vernier/error.h"
#include "vernier/model/decoder.h"
#include "vernier/tensor/sample_archive.h"

namespace vernier {
namespace {

constexpr std::int64_t synthetic_samples = 64;  // unless the spec says otherwise

// Whether the data file holds rows of tokens for a decoder, and not all of its inputs.
bool is_fed_tokens(const Model& model, const CalibrationInput& input) {
  const std::filesystem::path& data = input.spec.data;
  if (data.empty() || !std::filesystem::is_regular_file(data)) return false;
  const auto decoder = find_decoder(model, input.io.roles);
  if (!decoder) return false;
  const SampleArchive archive(data);
  const std::vector<TensorSpec> inputs = model.inputs();
  return !std::ranges::all_of(inputs, [&](const auto& each) { return archive.has(each.name); });
}

// The number of sequences: default_samples, but limited because the float model's logits of all of
// them are kept in memory.
std::int64_t most_sequences(const Model& model, const CalibrationInput& input) {
  constexpr std::int64_t most_logit_bytes = std::int64_t{1} << 30;
  const auto decoder = find_decoder(model, input.io.roles);
  const std::int64_t columns = decoder ? decoder->vocabulary : 1;
  return std::clamp<std::int64_t>(most_logit_bytes / (4 * input.text.block_length * columns), 16,
                                  input.spec.default_samples);
}

CalibrationData synthetic_data(const Model& model, InputSpec spec) {
  if (!spec.samples) spec.samples = synthetic_samples;
  const ModelIndex index(model);
  CalibrationData data{.inputs = automatic_inputs(index, nullptr, spec, {}), .synthetic = true};
  data.fit = measure_norm_fit(index, *data.inputs.samples, {});
  if (data.fit && !data.fit->fits())
    throw Error(fmt::format(
        "[quantize] --synthetic: the synthetic inputs are unlike those that {} was trained on, "
        "judging by its batch norms ({:.2f} > {}); give --data or --dataset",
        model.name(), data.fit->score, fitting_norm_score));
  return data;
}

}  // namespace

CalibrationData calibration_data(const Model& model, const CalibrationInput& input) {
  InputSpec spec = input.spec;
  read_text_input(input.text, model.path(), "", spec);
  // A decoder is measured on every token of whole sequences.
  spec.whole_sequences = !spec.tokens.empty() || is_fed_tokens(model, input);
  if (spec.whole_sequences && !spec.samples) spec.samples = most_sequences(model, input);
  const bool given = are_given(spec);
  if (given && input.synthetic)
    throw Error("[quantize] --synthetic: there is real data as well; leave one of them out");
  if (given) return {.inputs = make_inputs(model, spec, input.io)};
  return input.synthetic ? synthetic_data(model, spec) : CalibrationData{};
}

}  // namespace vernier
