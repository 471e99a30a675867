#include "vernier/analysis/decoding/decoder_inputs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "vernier/data/input_shape.h"
#include "vernier/data/random.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

// The values as a tensor of the input's dtype.
Tensor integers(const TensorSpec& input, Shape shape, std::span<const std::int64_t> values) {
  Tensor tensor = make_tensor(input.name, DType::i64, std::move(shape));
  std::ranges::copy(values, elements<std::int64_t>(tensor).begin());
  return input.dtype == DType::i64 ? std::move(tensor) : convert(tensor, input.dtype);
}

// [length] or [batch,length], by the input's rank.
Shape row_shape(const TensorSpec& input, std::int64_t batch, std::int64_t length) {
  Shape shape(input.shape.size(), 1);
  if (shape.size() > 1) shape.front() = batch;
  if (!shape.empty()) shape.back() = length;
  return shape;
}

// Shapes of the inputs that depend on the tokens; dims of the same names follow from them.
class RunShapes {
 public:
  RunShapes(const Decoder& decoder, std::span<const TensorSpec> inputs, const DecoderRun& run)
      : decoder_(decoder), inputs_(inputs), run_(run) {
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (decoder.roles[i] == DecoderRole::tokens) {
        tokens_ = &inputs[i];
        known_[inputs[i].name] = row_shape(inputs[i], run.batch, run.length());
      }
    for (const CacheSpec& cache : decoder.caches)
      if (const auto input = std::ranges::find(inputs, cache.input, &TensorSpec::name);
          input != inputs.end())
        known_[cache.input] = cache_shape(*input, cache);
  }

  std::int64_t total() const { return run_.past + run_.length(); }
  Shape of_cache(const std::string& name) const { return known_.at(name); }
  Shape of_values(std::size_t i) const { return resolve_shape(i, inputs_, known_); }

  // A row of a mask is as long as cache and tokens together, unless it is declared like the tokens;
  // a mask of three or more axes has a row for each token.
  Shape of_mask(const TensorSpec& input) const {
    Shape shape = row_shape(input, run_.batch, total());
    const Dim& last = input.shape.back();
    if (!last.is_dynamic()) shape.back() = last.size;
    if (const auto length = length_of_values(last)) shape.back() = *length;
    const bool declared = !last.symbol.empty() && last == tokens_->shape.back();
    if (declared && decoder_.caches.empty()) shape.back() = run_.length();
    if (shape.size() >= 3) shape[shape.size() - 2] = run_.length();
    return shape;
  }

 private:
  // The size of a dim of this name in an input that does not depend on the tokens, such as an
  // encoder's output: the mask of that input is equally long.
  std::optional<std::int64_t> length_of_values(const Dim& dim) const {
    if (dim.symbol.empty() || dim == tokens_->shape.back()) return std::nullopt;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (decoder_.roles[i] != DecoderRole::values) continue;
      for (std::size_t axis = 1; axis < inputs_[i].shape.size(); ++axis)
        if (inputs_[i].shape[axis] == dim) return of_values(i)[axis];
    }
    return std::nullopt;
  }

  Shape cache_shape(const TensorSpec& input, const CacheSpec& cache) const {
    const std::string& batch = tokens_->shape.front().symbol;
    Shape shape;
    for (std::size_t i = 0; i < input.shape.size(); ++i) {
      const Dim& dim = input.shape[i];
      const bool is_batch = batch.empty() ? i == 0 : dim.symbol == batch;
      shape.push_back(!dim.is_dynamic() ? dim.size : is_batch ? run_.batch : 1);
    }
    if (cache.length_axis >= 0) shape[cache.length_axis] = run_.past;
    return shape;
  }

  const Decoder& decoder_;
  std::span<const TensorSpec> inputs_;
  const DecoderRun& run_;
  const TensorSpec* tokens_ = nullptr;
  std::map<std::string, Shape> known_;
};

// One for every token. A mask with a row for each token is causal: a row shows the tokens up to its
// own (1, or 0 if the mask is float and thus added) and hides those after it (0, or -10000).
Tensor make_mask(const TensorSpec& input, Shape shape, const DecoderRun& run) {
  const std::int64_t total = run.past + run.length(), length = shape.back();
  const bool causal = shape.size() >= 3, additive = causal && is_float(input.dtype);
  const std::int64_t rows = causal ? shape[shape.size() - 2] : 1;
  Tensor mask = make_tensor(input.name, DType::f32, std::move(shape));
  const std::span<float> values = elements<float>(mask);
  const float hidden = additive ? -10000.0F : 0.0F, shown = additive ? 0.0F : 1.0F;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t column = static_cast<std::int64_t>(i) % length;
    const std::int64_t row = static_cast<std::int64_t>(i) / length % rows;
    const std::int64_t end = causal ? run.past + row + 1 : total;
    values[i] = column < end ? shown : hidden;
  }
  return convert(mask, input.dtype);
}

Tensor make_input(const Decoder& decoder, const RunShapes& shapes, std::size_t i,
                  const TensorSpec& input, const DecoderRun& run) {
  const auto one = [&](std::int64_t value) {
    Shape shape(input.shape.size(), 1);
    if (!shape.empty() && input.shape[0].is_dynamic()) shape[0] = run.batch;
    return integers(input, shape, std::vector<std::int64_t>(element_count(shape), value));
  };
  switch (decoder.roles[i]) {
    case DecoderRole::tokens:
      return integers(input, row_shape(input, run.batch, run.length()), run.tokens);
    case DecoderRole::mask: return make_mask(input, shapes.of_mask(input), run);
    case DecoderRole::positions: {
      Shape shape = row_shape(input, run.batch, run.length());
      std::vector<std::int64_t> positions(static_cast<std::size_t>(element_count(shape)));
      for (std::size_t k = 0; k < positions.size(); ++k)
        positions[k] = run.past + static_cast<std::int64_t>(k) % run.length();
      return integers(input, std::move(shape), positions);
    }
    case DecoderRole::cache:
      return make_tensor(input.name, input.dtype, shapes.of_cache(input.name));
    case DecoderRole::last_position: return one(shapes.total() - 1);
    case DecoderRole::total_length: return one(shapes.total());
    case DecoderRole::use_cache: return one(run.past > 0 ? 1 : 0);
    case DecoderRole::values: break;
  }
  return draw({.name = input.name,
               .dtype = input.dtype,
               .shape = shapes.of_values(i),
               .range = {0, is_float(input.dtype) ? 1.0 : 1.5}},
              {.input = static_cast<std::int64_t>(i)});
}

}  // namespace

std::vector<Tensor> decoder_inputs(const Decoder& decoder, std::span<const TensorSpec> inputs,
                                   const DecoderRun& run, std::span<const Tensor> caches) {
  const RunShapes shapes(decoder, inputs, run);
  std::vector<Tensor> made;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto cache = std::ranges::find(caches, inputs[i].name, &Tensor::name);
    made.push_back(cache != caches.end() ? *cache : make_input(decoder, shapes, i, inputs[i], run));
  }
  return made;
}

std::vector<Tensor> take_caches(const Decoder& decoder, std::vector<Tensor>& outputs,
                                std::span<const Tensor> fed) {
  std::vector<Tensor> caches;
  for (const CacheSpec& cache : decoder.caches) {
    const auto output = std::ranges::find(outputs, cache.output, &Tensor::name);
    if (output == outputs.end()) continue;
    const auto before = std::ranges::find(fed, cache.input, &Tensor::name);
    if (output->size() == 0 && before != fed.end())
      caches.push_back(*before);
    else
      caches.push_back(std::move(*output));
    caches.back().name = cache.input;
  }
  return caches;
}

const Tensor* find_logits(const Decoder& decoder, std::span<const Tensor> outputs) {
  auto found = std::ranges::find(outputs, decoder.logits, &Tensor::name);
  if (found == outputs.end())
    found = std::ranges::find_if(outputs, [&](const Tensor& output) {
      return is_float(output.dtype) && !output.shape.empty() &&
             output.shape.back() == decoder.vocabulary;
    });
  return found == outputs.end() ? nullptr : &*found;
}

std::int64_t best_token(const TensorView& logits) {
  const std::int64_t columns = logits.shape.empty() ? 0 : logits.shape.back();
  if (logits.size() == 0) return 0;
  std::vector<float> row(static_cast<std::size_t>(columns));
  widen(logits, logits.size() - columns, row);
  return std::ranges::max_element(row) - row.begin();
}

}  // namespace vernier
