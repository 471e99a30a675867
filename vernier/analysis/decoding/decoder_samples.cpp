#include "vernier/analysis/decoding/decoder_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "vernier/analysis/decoding/decoder_inputs.h"
#include "vernier/analysis/decoding/fed_decoder.h"
#include "vernier/data/npz_batches.h"
#include "vernier/error.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/sample_archive.h"

namespace vernier {
namespace {

constexpr std::int64_t default_sequences = 8;

// A model that is fed, and what its inputs are to it.
struct Teacher {
  Decoder decoder;
  OrtRunner runner;
};

// Runs of sequences in turn. The teacher runs only as far as the samples that are asked for, and
// from the prompt on where they are asked for out of their order.
class SequenceSamples : public Samples {
 public:
  SequenceSamples(Decoder decoder, std::vector<TensorSpec> inputs, Teacher teacher,
                  std::unique_ptr<Samples> prompts, const IoMapping& io)
      : decoder_(std::move(decoder)),
        inputs_(std::move(inputs)),
        teacher_(std::move(teacher)),
        prompts_(std::move(prompts)),
        prompt_length_(io.prompt_length),
        runs_(1 + io.decode_steps) {}

  std::int64_t size() const override { return prompts_->size() * runs_; }

  std::vector<Tensor> sample(std::int64_t index) override {
    const std::lock_guard lock(mutex_);
    const std::int64_t sequence = index / runs_, step = index % runs_;
    if (sequence != sequence_ || step < step_) begin(sequence);
    while (step_ < step) advance();
    return decoder_inputs(decoder_, inputs_, run(), caches_for(decoder_, inputs_));
  }

 private:
  DecoderRun run() const { return {tokens_, past_}; }

  void begin(std::int64_t sequence) {
    const Tensor ids = convert(prompts_->sample(sequence).at(0), DType::i64);
    const auto row = elements<std::int64_t>(ids);
    if (std::ssize(row) < prompt_length_)
      throw Error(fmt::format(
          "[inputs] '{}': sequence {} has {} tokens, the prompt takes {}; pass a smaller "
          "--prompt-length",
          decoder_.tokens, sequence, row.size(), prompt_length_));
    tokens_.assign(row.begin(), row.begin() + prompt_length_);
    past_ = step_ = 0;
    caches_.clear();
    sequence_ = sequence;
  }

  void advance() {
    const std::vector<TensorSpec>& own = teacher_.runner.inputs();
    std::vector<Tensor> outputs = teacher_.runner.run(
        decoder_inputs(teacher_.decoder, own, run(), caches_for(teacher_.decoder, own)));
    const auto logits = std::ranges::find(outputs, teacher_.decoder.logits, &Tensor::name);
    const std::int64_t next = best_token(*logits);
    past_ += std::ssize(tokens_);
    tokens_ = {next};
    caches_ = take_caches(teacher_.decoder, outputs);
    ++step_;
  }

  // The teacher's caches under the names, and in the types, of a model's inputs: both have them in
  // one order where names differ.
  std::vector<Tensor> caches_for(const Decoder& decoder, std::span<const TensorSpec> inputs) const {
    std::vector<Tensor> caches = caches_;
    for (std::size_t i = 0; i < std::min(caches.size(), decoder.caches.size()); ++i) {
      const std::string& name = decoder.caches[i].input;
      const auto same = std::ranges::find(caches_, name, &Tensor::name);
      if (same != caches_.end()) caches[i] = *same;
      const auto spec = std::ranges::find(inputs, name, &TensorSpec::name);
      if (spec != inputs.end() && spec->dtype != caches[i].dtype)
        caches[i] = convert(caches[i], spec->dtype);
      caches[i].name = name;
    }
    return caches;
  }

  Decoder decoder_;
  std::vector<TensorSpec> inputs_;
  Teacher teacher_;
  std::unique_ptr<Samples> prompts_;
  std::int64_t prompt_length_, runs_;
  std::mutex mutex_;
  std::int64_t sequence_ = -1, step_ = 0, past_ = 0;
  std::vector<std::int64_t> tokens_;
  std::vector<Tensor> caches_;  // named by the teacher's inputs
};

bool holds_every_input(const InputSpec& spec, std::span<const TensorSpec> inputs) {
  if (spec.data.empty()) return false;
  const SampleArchive archive(spec.data);
  return std::ranges::all_of(inputs,
                             [&](const TensorSpec& input) { return archive.has(input.name); });
}

// Whether the samples of a spec are sequences for the decoder.
bool makes_sequences(const InputSpec& spec, const Decoder& decoder,
                     std::span<const TensorSpec> inputs) {
  const bool shaped = std::ranges::any_of(spec.shapes, [&](const auto& shape) {
    return shape.first != decoder.tokens && !shape.first.empty();
  });
  return !decoder.caches.empty() && !shaped && spec.dataset.name.empty() &&
         !holds_every_input(spec, inputs);
}

// The input of tokens alone, of one sequence.
TensorSpec tokens_spec(const Decoder& decoder, std::span<const TensorSpec> inputs) {
  return *std::ranges::find(inputs, decoder.tokens, &TensorSpec::name);
}

Inputs make_prompts(const Decoder& decoder, std::span<const TensorSpec> inputs,
                    const InputSpec& spec, const IoMapping& io, std::int64_t sequences) {
  const TensorSpec tokens = tokens_spec(decoder, inputs);
  if (!spec.data.empty()) {
    std::map<std::string, std::string> names = io.inputs;
    const SampleArchive archive(spec.data);
    if (!archive.has(tokens.name) && archive.names().size() == 1)
      names.emplace(archive.names()[0], tokens.name);
    NpzBatches batches = npz_batches(spec.data, std::array{tokens}, {}, names);
    const std::int64_t size = batches.samples->size();
    const bool all = !spec.samples && !spec.sample_index;
    const std::int64_t count = all ? size : std::min(sequences, size);
    return {select_samples(std::move(batches.samples), 0, count), spec.data.filename().string(),
            std::move(batches.warnings)};
  }
  const auto range = spec.ranges.find(decoder.tokens);
  RandomOptions random{.samples = sequences,
                       .seed = spec.seed,
                       .shapes = {{tokens.name, {1, io.prompt_length}}},
                       .index_lengths = {{tokens.name, decoder.vocabulary}}};
  if (range != spec.ranges.end()) random.ranges[tokens.name] = range->second;
  return {random_samples(std::array{tokens}, random),
          fmt::format("random tokens, seed {}", spec.seed),
          {}};
}

Teacher open_teacher(const InputTarget& target, const Decoder& own) {
  const Model& model = target.teacher ? *target.teacher : *target.onnx;
  auto decoder = target.teacher ? find_decoder(model) : own;
  // What does not keep a cache itself cannot fill one.
  const bool fits = decoder && decoder->caches.size() == own.caches.size();
  return {fits ? *decoder : own, OrtRunner((fits ? model : *target.onnx).clone())};
}

}  // namespace

std::optional<Inputs> decoder_samples(const InputTarget& target, const InputSpec& spec) {
  if (!target.onnx) return std::nullopt;
  auto decoder = find_decoder(*target.onnx, target.io.roles);
  if (!decoder || !makes_sequences(spec, *decoder, target.inputs)) return std::nullopt;
  const std::int64_t runs = 1 + target.io.decode_steps;
  const bool whole = target.io.steps > 1;
  const std::int64_t unit = whole ? runs : 1;
  const std::int64_t first = spec.sample_index.value_or(0);
  const std::int64_t asked = spec.sample_index ? first + 1
                             : spec.samples    ? *spec.samples
                             : whole           ? default_sequences
                                               : std::max(default_sequences, spec.default_samples);
  const std::int64_t sequences = (asked * unit + runs - 1) / runs;
  Inputs inputs = make_prompts(*decoder, target.inputs, spec, target.io, sequences);
  inputs.description +=
      fmt::format(", prompts of {} and {} steps", target.io.prompt_length, target.io.decode_steps);
  auto samples = std::make_unique<SequenceSamples>(
      *decoder, std::vector<TensorSpec>(target.inputs.begin(), target.inputs.end()),
      open_teacher(target, *decoder), std::move(inputs.samples), target.io);
  const std::int64_t size = samples->size();
  const std::int64_t count = spec.sample_index        ? unit
                             : spec.samples || !whole ? std::min(asked * unit, size)
                                                      : size;
  inputs.samples = select_samples(std::move(samples), first * unit, count);
  return inputs;
}

void follow_decoder(const Model& candidate, const Model* reference, const InputSpec& spec,
                    IoMapping& io) {
  auto decoder = find_decoder(candidate, io.roles);
  const std::vector<TensorSpec> inputs = candidate.inputs();
  if (!decoder || !io.feedback.empty() || !makes_sequences(spec, *decoder, inputs)) return;
  io.steps = 1 + io.decode_steps;
  // As programs do: each cache of the candidate is fed what is called as in the reference.
  const auto trusted = reference ? find_decoder(*reference) : std::nullopt;
  const bool fits = trusted && trusted->caches.size() == decoder->caches.size();
  for (std::size_t i = 0; i < decoder->caches.size(); ++i)
    io.feedback.push_back(
        {(fits ? counterpart_cache(*trusted, *decoder, i) : decoder->caches[i]).output,
         decoder->caches[i].input});
  if (io.generate) io.feedback.push_back({decoder->logits, decoder->tokens, true});
}

void pair_cache_outputs(const Model& candidate, std::span<const TensorSpec> reference_outputs,
                        IoMapping& io) {
  const auto decoder = find_decoder(candidate, io.roles);
  if (!decoder || decoder->caches.empty()) return;
  std::vector<std::string> caches;
  for (const TensorSpec& output : reference_outputs) {
    if (output.name == decoder->logits || io.outputs.contains(output.name)) continue;
    if (std::ranges::find(decoder->caches, output.name, &CacheSpec::output) !=
        decoder->caches.end())
      return;
    caches.push_back(output.name);
  }
  if (caches.size() != decoder->caches.size()) return;
  for (std::size_t i = 0; i < caches.size(); ++i)
    io.outputs.emplace(caches[i], decoder->caches[i].output);
}

}  // namespace vernier
