#include "vernier/analysis/text/text_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "vernier/error.h"
#include "vernier/metrics/similarity.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using Role = EncoderInputs::Role;

// Texts that are also run alone, to see whether the batch changes their outputs.
constexpr std::size_t texts_run_alone = 4;

std::int64_t longest(std::span<const EncodedText> texts) {
  std::size_t most = 0;
  for (const EncodedText& text : texts) most = std::max(most, text.ids.size());
  return static_cast<std::int64_t>(most);
}

std::int64_t value_at(const EncodedText& text, Role role, std::int64_t place) {
  const bool padding = place >= std::ssize(text.ids);
  switch (role) {
    case Role::ids: return padding ? 0 : text.ids[place];
    case Role::kinds: return padding ? 0 : text.kinds[place];
    case Role::mask: return padding ? 0 : 1;
    case Role::positions: break;
  }
  return place;
}

// A row of each input for each text, padded to the longest text or to the model's fixed length.
std::vector<Tensor> text_inputs(std::span<const EncodedText> texts, const EncoderInputs& encoder,
                                const std::vector<TensorSpec>& inputs) {
  const std::int64_t length = encoder.length.value_or(longest(texts));
  std::vector<Tensor> result;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Tensor values = make_tensor(inputs[i].name, DType::i64, {std::ssize(texts), length});
    auto out = elements<std::int64_t>(values).begin();
    for (const EncodedText& text : texts)
      for (std::int64_t k = 0; k < length; ++k) *out++ = value_at(text, encoder.roles[i], k);
    if (inputs[i].dtype != DType::i64) values = convert(values, inputs[i].dtype);
    result.push_back(std::move(values));
  }
  return result;
}

// The row of one text in the output of a batch.
Tensor row_of_batch(const Tensor& output, std::size_t row, std::size_t rows) {
  if (output.shape.empty() || output.shape[0] != static_cast<std::int64_t>(rows))
    throw Error(fmt::format(
        "[text] output '{}' has shape {}, expected a row for each of {} texts; pass --batch 1",
        output.name, format_shape(output.shape), rows));
  Tensor part{.name = output.name, .dtype = output.dtype, .shape = output.shape};
  part.shape[0] = 1;
  const std::size_t bytes = output.bytes.size() / rows;
  const auto first = output.bytes.begin() + static_cast<std::ptrdiff_t>(row * bytes);
  part.bytes.assign(first, first + static_cast<std::ptrdiff_t>(bytes));
  return part;
}

void require_any_batch(std::span<const TensorSpec> inputs, std::int64_t batch) {
  for (const TensorSpec& input : inputs)
    if (batch > 1 && !input.shape.empty() && !input.shape[0].is_dynamic())
      throw Error(fmt::format(
          "[text] --batch {}: input '{}' takes {} at once; export the model with a dynamic batch",
          batch, input.name, input.shape[0].size));
}

// SQNR of a text's output in a batch, without rows of padding, against its output alone; nullopt if
// the output is not float or has fewer elements in the batch.
std::optional<double> similarity_of(const Tensor& alone, const Tensor& batched) {
  if (!is_float(alone.dtype) || alone.bytes.size() > batched.bytes.size()) return std::nullopt;
  TensorView own = batched;
  own.shape = alone.shape;
  own.bytes = own.bytes.first(alone.bytes.size());
  return similarity(alone, own).sqnr_db;
}

}  // namespace

TextRunner::TextRunner(Runner& runner, EncoderInputs encoder, std::int64_t batch)
    : runner_(runner), encoder_(std::move(encoder)), batch_(batch), inputs_(runner.inputs()) {
  require_any_batch(inputs_, batch_);
}

TextRunner::TextRunner(Runner& runner, const TextRunner& like)
    : runner_(runner),
      encoder_(like.encoder_),
      batch_(like.batch_),
      inputs_(like.inputs_),
      bindings_(bind_inputs(inputs_, runner.inputs())),
      is_bound_(true) {
  require_any_batch(runner.inputs(), batch_);
}

// The number of texts in the next run.
std::size_t TextRunner::batch_at(std::span<const EncodedText> texts) const {
  const bool pads = encoder_.length || std::ranges::count(encoder_.roles, Role::mask) > 0;
  const std::size_t most = std::min(texts.size(), static_cast<std::size_t>(batch_));
  std::size_t count = 1;
  while (count < most && (pads || texts[count].ids.size() == texts[0].ids.size())) ++count;
  return count;
}

void TextRunner::run(std::span<const EncodedText> texts, const VisitOutputs& visit) {
  while (!texts.empty()) {
    const std::size_t count = batch_at(texts);
    run_batch(texts.first(count), visit);
    texts = texts.subspan(count);
  }
}

void TextRunner::run_batch(std::span<const EncodedText> texts, const VisitOutputs& visit) {
  std::vector<Tensor> inputs = text_inputs(texts, encoder_, inputs_);
  if (is_bound_) inputs = apply_bindings(bindings_, runner_.inputs(), inputs);
  std::vector<Tensor> outputs = runner_.run(inputs);
  if (texts.size() == 1) return visit(std::move(outputs));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::vector<Tensor> own;
    for (const Tensor& output : outputs) own.push_back(row_of_batch(output, i, texts.size()));
    visit(std::move(own));
  }
}

std::optional<double> TextRunner::similarity_alone(std::span<const EncodedText> texts) {
  texts = texts.first(batch_at(texts));
  if (texts.size() < 2) return std::nullopt;
  std::vector<std::vector<Tensor>> batched;
  run_batch(texts, [&](std::vector<Tensor> outputs) { batched.push_back(std::move(outputs)); });
  double worst = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(texts.size(), texts_run_alone); ++i)
    run_batch(texts.subspan(i, 1), [&](const std::vector<Tensor>& outputs) {
      for (std::size_t k = 0; k < std::min(outputs.size(), batched[i].size()); ++k)
        if (const auto found = similarity_of(outputs[k], batched[i][k]))
          worst = std::min(worst, *found);
    });
  return worst;
}

}  // namespace vernier
