#include "vernier/analysis/decoding/decoder_samples.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <mutex>

#include "vernier/analysis/decoding/decoder_inputs.h"
#include "vernier/analysis/decoding/fed_decoder.h"
#include "vernier/analysis/decoding/token_samples.h"
#include "vernier/data/npz_batches.h"
#include "vernier/error.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/sample_archive.h"

namespace vernier {
namespace {

constexpr std::int64_t default_sequences = 8;

// Steps behind a prompt; by default as many as show whether caches are used.
std::int64_t steps_of(const IoMapping& io) { return io.decode_steps.value_or(3); }

// The runs of the sequences, in order. The teacher runs only as far as the requested sample, and
// starts again at the prompt if samples are requested out of order.
class SequenceSamples : public Samples {
 public:
  SequenceSamples(Decoder decoder, std::vector<TensorSpec> inputs, Teacher teacher,
                  std::unique_ptr<Samples> prompts, const IoMapping& io)
      : decoder_(std::move(decoder)),
        inputs_(std::move(inputs)),
        teacher_(std::move(teacher)),
        prompts_(std::move(prompts)),
        prompt_length_(io.prompt_length),
        runs_(1 + steps_of(io)) {}

  std::int64_t size() const override { return prompts_->size() * runs_; }

  std::vector<Tensor> sample(std::int64_t index) override {
    const std::lock_guard lock(mutex_);
    const std::int64_t sequence = index / runs_, step = index % runs_;
    if (sequence != sequence_ || step < step_) begin(sequence);
    for (; step_ < step; ++step_) tokens_ = {teacher_.next(tokens_)};
    return decoder_inputs(decoder_, inputs_, {tokens_, teacher_.past},
                          teacher_.caches_for(decoder_, inputs_));
  }

 private:
  void begin(std::int64_t sequence) {
    const Tensor ids = convert(prompts_->sample(sequence).at(0), DType::i64);
    const auto row = elements<std::int64_t>(ids);
    if (std::ssize(row) < prompt_length_)
      throw Error(
          fmt::format("[inputs] '{}': sequence {} has {} tokens, the prompt takes {}; pass a "
                      "smaller --prompt-length",
                      decoder_.tokens, sequence, row.size(), prompt_length_));
    tokens_.assign(row.begin(), row.begin() + prompt_length_);
    teacher_.begin();
    step_ = 0;
    sequence_ = sequence;
  }

  Decoder decoder_;
  std::vector<TensorSpec> inputs_;
  Teacher teacher_;
  std::unique_ptr<Samples> prompts_;
  std::int64_t prompt_length_, runs_;
  std::mutex mutex_;
  std::int64_t sequence_ = -1, step_ = 0;
  std::vector<std::int64_t> tokens_;  // of the step
};

// The blocks of a text.
class TextSamples : public Samples {
 public:
  TextSamples(const std::vector<std::vector<std::int64_t>>& blocks, std::int64_t count)
      : blocks_(blocks.begin(), blocks.begin() + count) {}
  std::int64_t size() const override { return std::ssize(blocks_); }
  std::vector<Tensor> sample(std::int64_t index) override {
    const std::vector<std::int64_t>& block = blocks_.at(static_cast<std::size_t>(index));
    Tensor tokens = make_tensor("tokens", DType::i64, {1, std::ssize(block)});
    std::ranges::copy(block, elements<std::int64_t>(tokens).begin());
    return {std::move(tokens)};
  }

 private:
  std::vector<std::vector<std::int64_t>> blocks_;
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

Inputs make_prompts(const Decoder& decoder, std::span<const TensorSpec> inputs,
                    const InputSpec& spec, const IoMapping& io, std::int64_t sequences) {
  const TensorSpec tokens = *std::ranges::find(inputs, decoder.tokens, &TensorSpec::name);
  const bool all = !spec.samples && !spec.sample_index;
  if (!spec.tokens.empty()) {
    const std::int64_t size = std::ssize(spec.tokens);
    return {std::make_unique<TextSamples>(spec.tokens, all ? size : std::min(sequences, size)),
            spec.text,
            {}};
  }
  if (!spec.data.empty()) {
    std::map<std::string, std::string> names = io.inputs;
    const SampleArchive archive(spec.data);
    if (!archive.has(tokens.name) && archive.names().size() == 1)
      names.emplace(archive.names()[0], tokens.name);
    NpzBatches batches = npz_batches(spec.data, std::array{tokens}, {}, names);
    const std::int64_t size = batches.samples->size();
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

std::string places_text(const InputSpec& spec) {
  constexpr std::array<std::string_view, 3> names = {"first", "last", "worst"};  // by kind
  std::vector<std::string> texts;
  for (const TokenPlace& place : spec.at)
    texts.push_back(place.kind == TokenPlace::Kind::number
                        ? std::to_string(place.number)
                        : std::string(names[static_cast<std::size_t>(place.kind)]));
  return fmt::format("{}", fmt::join(texts, ", "));
}

// The teacher continues a drawn prompt by `steps` tokens.
void continue_sequence(std::vector<std::int64_t>& tokens, Teacher& teacher, std::int64_t steps) {
  teacher.begin();
  for (std::int64_t step = 0; step < steps; ++step)
    tokens.push_back(teacher.next(std::span<const std::int64_t>(tokens).subspan(teacher.past)));
}

// Samples of whole sequences, or of some of their tokens.
Inputs sequence_samples(const InputTarget& target, const InputSpec& spec, const Decoder& decoder,
                        const SequenceLogits& reference) {
  if (spec.sample_index)
    throw Error("[inputs] --sample-index does not go with --at; pass --at N and --samples");
  if (std::ranges::count(spec.at, TokenPlace::Kind::worst, &TokenPlace::kind) > 0 &&
      !target.teacher && !reference)
    throw Error(
        "[inputs] --at worst: the token whose distribution changes most is found beside a float "
        "model; pass --reference MODEL, or the number of a token");
  const std::int64_t asked = spec.samples.value_or(default_sequences);
  Inputs inputs = make_prompts(decoder, target.inputs, spec, target.io, asked);
  FedSequences fed{.decoder = decoder, .inputs = {target.inputs.begin(), target.inputs.end()}};
  const bool drawn = spec.tokens.empty() && spec.data.empty();
  std::optional<Teacher> teacher;
  if (drawn || !spec.at.empty()) teacher.emplace(open_teacher(target, decoder));
  for (std::int64_t i = 0; i < std::min(asked, inputs.samples->size()); ++i) {
    const Tensor ids = convert(inputs.samples->sample(i).at(0), DType::i64);
    const auto row = elements<std::int64_t>(ids);
    std::vector<std::int64_t> tokens(row.begin(), row.end());
    if (drawn) continue_sequence(tokens, *teacher, steps_of(target.io));
    if (spec.longest_sequence && std::ssize(tokens) > *spec.longest_sequence)
      tokens.resize(static_cast<std::size_t>(*spec.longest_sequence));
    if (!tokens.empty()) fed.sequences.push_back(std::move(tokens));
  }
  if (fed.sequences.empty()) throw Error("[inputs] there are no tokens to feed");
  if (spec.at.empty()) {
    inputs.description += fmt::format(", {} sequences", fed.sequences.size());
    inputs.samples = whole_sequences(std::move(fed));
    return inputs;
  }
  inputs.description +=
      fmt::format(", tokens {} of {} sequences", places_text(spec), fed.sequences.size());
  const auto says = [&](std::span<const std::int64_t> tokens) {
    if (reference) return reference(tokens);
    teacher->begin();
    return *find_logits(teacher->decoder, teacher->feed(tokens));
  };
  auto places = find_places(fed, says, *target.onnx, spec.at);
  inputs.samples = tokens_at(std::move(fed), std::move(*teacher), std::move(places));
  return inputs;
}

}  // namespace

std::optional<Inputs> decoder_samples(const InputTarget& target, const InputSpec& spec,
                                      const SequenceLogits& reference) {
  if (!target.onnx) return std::nullopt;
  auto decoder = find_decoder(*target.onnx, target.io.roles);
  const bool whole_without_cache = decoder && spec.whole_sequences && decoder->caches.empty();
  if (whole_without_cache) return sequence_samples(target, spec, *decoder, reference);
  if (!decoder || !makes_sequences(spec, *decoder, target.inputs)) {
    if (spec.at.empty() && spec.tokens.empty() && !spec.whole_sequences) return std::nullopt;
    throw Error(
        fmt::format("[inputs] {}: tokens are fed to decoders with a cache, and the graph shows "
                    "none; name its inputs by --role, as in 'past.*=cache'",
                    target.onnx->name()));
  }
  if (!spec.at.empty() || spec.whole_sequences)
    return sequence_samples(target, spec, *decoder, reference);
  const std::int64_t runs = 1 + steps_of(target.io);
  const bool whole = target.io.steps > 1;
  const std::int64_t unit = whole ? runs : 1;
  const std::int64_t first = spec.sample_index.value_or(0);
  const std::int64_t asked = spec.sample_index ? first + 1
                             : spec.samples    ? *spec.samples
                             : whole           ? default_sequences
                                               : std::max(default_sequences, spec.default_samples);
  // all_samples times anything overflows.
  const std::int64_t sequences = whole ? asked : asked / runs + (asked % runs > 0);
  Inputs inputs = make_prompts(*decoder, target.inputs, spec, target.io, sequences);
  inputs.description +=
      fmt::format(", prompts of {} and {} steps", target.io.prompt_length, steps_of(target.io));
  auto samples = std::make_unique<SequenceSamples>(
      *decoder, std::vector<TensorSpec>(target.inputs.begin(), target.inputs.end()),
      open_teacher(target, *decoder), std::move(inputs.samples), target.io);
  const std::int64_t size = samples->size();
  const std::int64_t count = spec.sample_index        ? unit
                             : spec.samples || !whole ? std::min(asked, size / unit) * unit
                                                      : size;
  inputs.samples = select_samples(std::move(samples), first * unit, count);
  return inputs;
}

void follow_decoder(const Model& candidate, const Model* reference, const InputSpec& spec,
                    IoMapping& io) {
  auto decoder = find_decoder(candidate, io.roles);
  const std::vector<TensorSpec> inputs = candidate.inputs();
  if (!decoder || !io.feedback.empty() || !makes_sequences(spec, *decoder, inputs)) return;
  io.steps = 1 + steps_of(io);
  // As applications do: a cache is fed the output that has the reference's name for it.
  const auto trusted = reference ? find_decoder(*reference) : std::nullopt;
  const bool fits = trusted && trusted->caches.size() == decoder->caches.size();
  for (std::size_t i = 0; i < decoder->caches.size(); ++i)
    io.feedback.push_back(
        {(fits ? counterpart_cache(*trusted, *decoder, i) : decoder->caches[i]).output,
         decoder->caches[i].input});
  if (io.generate) io.feedback.push_back({decoder->logits, decoder->tokens, true});
}

}  // namespace vernier
