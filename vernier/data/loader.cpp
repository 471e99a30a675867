#include "vernier/data/loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <thread>

#include "vernier/data/input_shape.h"
#include "vernier/data/prefetch.h"
#include "vernier/error.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

constexpr std::size_t problems_shown = 5;

int thread_count(int wanted) {
  if (wanted > 0) return wanted;
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, 4);
}

bool has_fixed_batch(const TensorSpec& input) {
  return !input.shape.empty() && !input.shape[0].is_dynamic();
}

// A ready input with a batch axis of 1 added.
Tensor fit_tensor(Tensor tensor, const TensorSpec& input) {
  const std::vector<Dim> row(input.shape.begin() + !input.shape.empty(), input.shape.end());
  if (input.ranked && !fits(tensor.shape, row))
    throw Error(fmt::format("[dataset] {}: a row has shape {}, model expects {}", input.name,
                            format_shape(tensor.shape), format_shape(row)));
  tensor.name = input.name;
  tensor.shape.insert(tensor.shape.begin(), 1);
  return tensor.dtype == input.dtype ? std::move(tensor) : convert(tensor, input.dtype);
}

// Whether a label can be used, and the model's label for it.
struct LabelVerdict {
  enum { usable, missing, unknown } kind = usable;
  std::int64_t label = -1;
};

LabelVerdict judge_label(const std::optional<std::int64_t>& label, const LoaderOptions& options) {
  if (options.needs != Needs::label) return {LabelVerdict::usable, label.value_or(-1)};
  if (!label || *label < 0) return {LabelVerdict::missing};
  std::int64_t mapped = *label;
  if (options.mapping) {
    const auto found = options.mapping->find(*label);
    if (found == options.mapping->end()) return {LabelVerdict::unknown, *label};
    mapped = found->second;
  }
  if (options.model_labels > 0 && mapped >= options.model_labels)
    return {LabelVerdict::unknown, mapped};
  return {LabelVerdict::usable, mapped};
}

bool changes_size(const Preprocessing& preprocessing) {
  return preprocessing.resize || preprocessing.center_crop || preprocessing.pad;
}

// Targets stored as arrays are used as they are: only encoded label maps are resized and cropped
// with their images.
Tensor ready_target(const Tensor& target, const LoaderOptions& options) {
  if (target.shape.size() == 2 && changes_size(options.preprocessing))
    throw Error(
        fmt::format("[dataset] '{}': maps of labels in an array are not resized or cropped "
                    "with their images; store both in their final size",
                    target.name));
  return convert(target, DType::i64);
}

// A problem with one image alone; any other Error ends the work.
struct Damaged : Error {
  using Error::Error;
};

template <typename Decode>
Image decoded(const EncodedImage& encoded, const std::string& id, Decode decode) {
  try {
    return decode(encoded, id);
  } catch (const Error& error) {
    throw Damaged(error.what());
  }
}

std::optional<Tensor> target_of(const Example& example, const TensorSpec& input,
                                const LoaderOptions& options) {
  if (options.needs != Needs::target) return std::nullopt;
  if (const auto* ready = std::get_if<Tensor>(&example.target))
    return ready_target(*ready, options);
  const auto* encoded = std::get_if<EncodedImage>(&example.target);
  if (!encoded) return std::nullopt;
  return preprocess_label_map(decoded(*encoded, example.id, decode_label_map),
                              options.preprocessing, image_input(input));
}

Tensor input_of(Example example, const TensorSpec& input, const LoaderOptions& options) {
  if (const auto* unreadable = std::get_if<Unreadable>(&example.content))
    throw Damaged(unreadable->reason);
  if (auto* tensor = std::get_if<Tensor>(&example.content)) {
    if (options.images_only)
      throw Error(
          fmt::format("[dataset] {}: holds inputs that are ready, which preprocessing does not "
                      "change; leave out the options that prepare images, or store images as "
                      "uint8",
                      example.id));
    return fit_tensor(std::move(*tensor), input);
  }
  const auto* encoded = std::get_if<EncodedImage>(&example.content);
  Image image = encoded ? decoded(*encoded, example.id, decode_image)
                        : std::get<Image>(std::move(example.content));
  return preprocess(std::move(image), options.preprocessing, image_input(input));
}

Prepared prepare(Example example, const TensorSpec& input, const LoaderOptions& options) {
  Prepared result{.id = example.id, .label = example.label};
  try {
    result.target = target_of(example, input, options);
    // An image without a usable label need not be decoded.
    const bool usable = options.needs == Needs::target
                            ? result.target.has_value()
                            : judge_label(example.label, options).kind == LabelVerdict::usable;
    if (usable) result.input = input_of(std::move(example), input, options);
  } catch (const Damaged& damaged) {
    result.problem = damaged.what();
  }
  return result;
}

Tensor stack(std::vector<Tensor> rows, std::int64_t size) {
  Tensor batch = std::move(rows[0]);
  const std::size_t row_bytes = batch.bytes.size();
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].shape != batch.shape)
      throw Error(
          fmt::format("[dataset] {}: images of the shapes {} and {} cannot share a batch; "
                      "resize them to one size, or use a batch of 1",
                      batch.name, format_shape(batch.shape), format_shape(rows[i].shape)));
    batch.bytes.insert(batch.bytes.end(), rows[i].bytes.begin(), rows[i].bytes.end());
  }
  const std::vector<std::byte> last(batch.bytes.end() - row_bytes, batch.bytes.end());
  while (batch.bytes.size() < row_bytes * size)
    batch.bytes.insert(batch.bytes.end(), last.begin(), last.end());
  batch.shape[0] = static_cast<std::int64_t>(batch.bytes.size() / row_bytes);
  return batch;
}

}  // namespace

std::int64_t batch_size(const TensorSpec& input, std::int64_t wanted) {
  return has_fixed_batch(input) ? input.shape[0].size : std::max<std::int64_t>(1, wanted);
}

struct Loader::State {
  State(Dataset& dataset_, std::vector<std::int64_t> positions_, const TensorSpec& input_,
        LoaderOptions options_)
      : dataset(dataset_),
        positions(std::move(positions_)),
        input(input_),
        options(std::move(options_)),
        batch(batch_size(input, options.batch)),
        classes(dataset.classes()),
        report{.selected = static_cast<std::int64_t>(positions.size())} {}

  std::int64_t blocks() const { return (std::ssize(positions) + batch - 1) / batch; }

  // Starts prefetching at the next block.
  void start() {
    prefetch.reset();  // first: its thread reads the dataset, which is not thread-safe
    const int threads = thread_count(options.threads);
    const auto ahead = std::max<std::int64_t>(2L * threads, 2 * batch);
    prefetch.emplace(
        dataset, [this](Example example) { return prepare(std::move(example), input, options); },
        Prefetch::Options{{positions.begin() + block * batch, positions.end()},
                          threads,
                          static_cast<std::size_t>(ahead)});
    prefetched = block;
  }

  std::optional<ExampleBlock> next_block() {
    if (block >= blocks()) return std::nullopt;
    if (!prefetch || prefetched != block) start();
    const std::int64_t end = std::min(std::ssize(positions), (block + 1) * batch);
    std::vector<Tensor> rows;
    Batch loaded;
    BlockReport counts;
    for (std::int64_t at = block * batch; at < end; ++at) {
      std::optional<Prepared> prepared = prefetch->next();
      if (!prepared || !count(*prepared, counts)) continue;
      rows.push_back(std::move(*prepared->input));
      loaded.positions.push_back(positions[static_cast<std::size_t>(at)]);
      loaded.ids.push_back(std::move(prepared->id));
      loaded.labels.push_back(judge_label(prepared->label, options).label);
      if (prepared->target) loaded.targets.push_back(std::move(*prepared->target));
    }
    ++block;
    ++prefetched;
    counts.positions = loaded.positions;
    add(counts);
    if (rows.empty()) return ExampleBlock{.batch = std::nullopt, .report = std::move(counts)};
    loaded.input = stack(std::move(rows), has_fixed_batch(input) ? batch : 1);
    return ExampleBlock{.batch = std::move(loaded), .report = std::move(counts)};
  }

  // Counts the example; returns whether it can be used.
  bool count(const Prepared& prepared, BlockReport& counts) const {
    const LabelVerdict verdict = judge_label(prepared.label, options);
    if (prepared.input) {
      ++counts.used;
      if (prepared.label) counts.labels.push_back(*prepared.label);
      return true;
    }
    if (!prepared.problem.empty()) {
      ++counts.unreadable;
      counts.problems.push_back(prepared.problem);
    } else if (verdict.kind == LabelVerdict::unknown) {
      ++counts.unknown_labels;
      counts.problems.push_back(
          fmt::format("{}: its label {} is none of the model's", prepared.id, verdict.label));
    } else {
      ++counts.without_label;
      counts.problems.push_back(fmt::format("{}: has no {}", prepared.id, needed()));
    }
    return false;
  }

  std::string_view needed() const {
    return options.needs == Needs::target ? "map of labels or token ids" : "label";
  }

  void add(const BlockReport& counts) {
    report.used += counts.used;
    report.unreadable += counts.unreadable;
    report.without_label += counts.without_label;
    report.unknown_labels += counts.unknown_labels;
    used_labels.insert(counts.labels.begin(), counts.labels.end());
    for (const std::string& problem : counts.problems)
      if (report.problems.size() < problems_shown) report.problems.push_back(problem);
    if (options.max_bad && report.bad() > *options.max_bad)
      throw Error(fmt::format("[dataset] {} bad examples, --max-bad is {}; the first: {}",
                              report.bad(), *options.max_bad, report.problems[0]));
  }

  void finish() {
    if (report.used == 0 && report.without_label == report.selected)
      throw Error(fmt::format(
          "[dataset] none of {} examples has a {}; give a dataset that has, or name where it keeps "
          "them with --column label=NAME",
          report.selected, needed()));
    if (report.used == 0)
      throw Error(fmt::format("[dataset] none of {} examples can be used; the first: {}",
                              report.selected, report.problems.at(0)));
    report.empty_classes.clear();
    for (std::size_t label = 0; label < classes.size(); ++label) {
      const auto number = static_cast<std::int64_t>(label);
      const bool wanted = !options.mapping || options.mapping->contains(number);
      if (wanted && !used_labels.contains(number)) report.empty_classes.push_back(classes[label]);
    }
  }

  Dataset& dataset;
  std::vector<std::int64_t> positions;
  std::int64_t block = 0;       // index of the next block
  std::int64_t prefetched = 0;  // index of the block that `prefetch` returns next
  TensorSpec input;
  LoaderOptions options;
  std::int64_t batch;
  std::vector<std::string> classes;
  DatasetReport report;
  std::set<std::int64_t> used_labels;
  std::optional<Prefetch> prefetch;  // last member: its threads use the others
};

Loader::Loader(Dataset& dataset, std::vector<std::int64_t> positions, const TensorSpec& input,
               LoaderOptions options)
    : state_(std::make_unique<State>(dataset, std::move(positions), input, std::move(options))) {}
Loader::~Loader() = default;

std::optional<Batch> Loader::next() {
  while (std::optional<ExampleBlock> block = next_block())
    if (block->batch) return std::move(block->batch);
  finish();
  return std::nullopt;
}

std::int64_t Loader::blocks() const { return state_->blocks(); }
std::optional<ExampleBlock> Loader::next_block() { return state_->next_block(); }

void Loader::skip_block(const BlockReport& known) {
  state_->add(known);
  ++state_->block;
}

void Loader::finish() { state_->finish(); }
const DatasetReport& Loader::report() const { return state_->report; }

}  // namespace vernier
