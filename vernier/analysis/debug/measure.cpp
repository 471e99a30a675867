#include "vernier/analysis/debug/measure.h"

#include <algorithm>
#include <future>
#include <map>
#include <memory>
#include <mutex>

#include "vernier/analysis/decoding/fed_decoder.h"
#include "vernier/analysis/pairing/introduced.h"
#include "vernier/metrics/parallel.h"
#include "vernier/metrics/similarity.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/runtime/stopping.h"

namespace vernier {
namespace {

// If a model's tensors take no more than this in all, the two models run one after the other, with
// one sample per thread: in lockstep, waiting at every tensor would take longer.
constexpr std::int64_t sequential_bytes = std::int64_t{4} << 20;

std::unique_ptr<OrtRunner> open_watching(const Model& model, std::vector<std::string> tensors,
                                         OrtOptions options) {
  for (const TensorSpec& input : model.inputs()) std::erase(tensors, input.name);
  options.watch = Watch::only(std::move(tensors));
  return std::make_unique<OrtRunner>(model.clone(), options);
}

template <typename Map>
std::vector<std::string> keys_of(const Map& map) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : map) keys.push_back(key);
  return keys;
}

// Opening a model takes twice its weights in memory, so only small ones are opened concurrently.
std::launch opening_policy(const Model& float_model, const Model& quantized_model) {
  constexpr std::int64_t small_bytes = std::int64_t{32} << 20;
  const bool small = float_model.weight_bytes() + quantized_model.weight_bytes() <= small_bytes;
  return small ? std::launch::async : std::launch::deferred;
}

// Exact arithmetic: debug measures what the file defines, not what a CPU's integer kernels compute.
// Both models run at the same time. Operators of a tiny model run faster on one thread.
OrtOptions session_options(OrtOptions runtime, const Model& model,
                           const std::vector<Tensor>& sample) {
  constexpr std::int64_t tiny_weights = std::int64_t{4} << 20, tiny_inputs = 64 << 10;
  std::int64_t inputs = 0;
  for (const Tensor& input : sample) inputs += std::ssize(input.bytes);
  if (runtime.threads == 0 && model.weight_bytes() <= tiny_weights && inputs <= tiny_inputs)
    runtime.threads = 1;
  runtime.exact = true;
  runtime.models_at_once = 2;
  return runtime;
}

// Samples for measuring the loss by this CPU's arithmetic.
constexpr std::int64_t runtime_samples = 3;

struct MeasuredSample {
  std::int64_t number = 0;
  SampleSums sums;
};

// Both models, with the plan's tensors watched.
class ModelPair {
 public:
  ModelPair(const Model& float_model, const Model& quantized_model, DebugPlan plan,
            const OrtOptions& runtime, const DebugOptions& options) {
    auto opened = std::async(opening_policy(float_model, quantized_model), [&, runs = run_group()] {
      const RunGroupScope scope(runs);
      return open_watching(float_model, keys_of(requests_of(plan)), runtime);
    });
    quantized_ = open_watching(quantized_model, keys_of(plan.observed), runtime);
    float_ = opened.get();
    // A float decoder with other inputs gets them from those of the quantized decoder.
    if (auto fed = feed_decoder(*float_, float_model, quantized_model, options.io.roles)) {
      unfed_ = std::move(float_);
      float_ = std::move(fed);
    }
    shared_ = std::make_unique<SharedObservations>(std::move(plan), quantized_->outputs().size(),
                                                   options.show_pair);
  }

  SharedObservations& shared() { return *shared_; }

  // Adds to the introduced sums; returns the size of the float model's tensors in bytes.
  std::int64_t measure_introduced(const std::vector<Tensor>& sample,
                                  std::vector<TensorSums>& sums) {
    IntroducedObserver observer(*shared_, sums);
    const auto& inputs = quantized_->inputs();
    const auto measure = [&](const ObservedTensor& tensor, const TakeReference& take) {
      const bool is_input = std::ranges::count(inputs, tensor.name, &TensorSpec::name) > 0;
      return is_input ? std::vector<std::byte>() : observer.observe(tensor, take);
    };
    return run_on_reference_inputs(*float_, float_inputs(sample), *quantized_, sample, measure,
                                   requests_of(shared_->plan))
        .reference_bytes;
  }

  // Runs both models at the same time, so that neither's tensors are ever held all at once.
  SampleSums measure_in_lockstep(std::int64_t number, const std::vector<Tensor>& sample) {
    SampleObserver observer(*shared_, number);
    LockstepOutputs outputs =
        run_lockstep(*float_, float_inputs(sample), *quantized_, sample, observe_with(observer),
                     {.requests = requests_of(shared_->plan)});
    SampleSums sums = std::move(observer).finish(outputs);
    keep(number, sample, std::move(outputs));
    return sums;
  }

  // Runs the float model first, then the quantized one. Threads can call it concurrently.
  SampleSums measure_sequentially(std::int64_t number, const std::vector<Tensor>& sample) {
    SampleObserver observer(*shared_, number);
    std::unique_ptr<SequentialRun> run = borrow_run();
    LockstepOutputs outputs =
        run->run(*float_, float_inputs(sample), *quantized_, sample, observe_with(observer));
    SampleSums sums = std::move(observer).finish(outputs);
    keep(number, sample, std::move(outputs));
    const std::lock_guard lock(idle_mutex_);
    idle_.push_back(std::move(run));
    return sums;
  }

  // The first samples, in order.
  std::vector<ExactSample> take_kept() {
    std::vector<ExactSample> samples;
    for (auto& [number, sample] : kept_) samples.push_back(std::move(sample));
    return samples;
  }

 private:
  void keep(std::int64_t number, const std::vector<Tensor>& sample, LockstepOutputs outputs) {
    if (number >= runtime_samples) return;
    const std::lock_guard lock(idle_mutex_);
    kept_[number] = {sample, std::move(outputs.reference), std::move(outputs.candidate)};
  }

  std::vector<Tensor> float_inputs(const std::vector<Tensor>& sample) const {
    return apply_bindings(shared_->plan.bindings, float_->inputs(), sample);
  }

  static PairObserver observe_with(SampleObserver& observer) {
    return [&](const ObservedTensor& tensor, const TakeReference& take) {
      observer.observe(tensor, take);
    };
  }

  // Reuses the buffers of an earlier sample if there are any.
  std::unique_ptr<SequentialRun> borrow_run() {
    const std::lock_guard lock(idle_mutex_);
    if (idle_.empty())
      return std::make_unique<SequentialRun>(
          LockstepOptions{.requests = requests_of(shared_->plan)});
    std::unique_ptr<SequentialRun> run = std::move(idle_.back());
    idle_.pop_back();
    return run;
  }

  std::unique_ptr<OrtRunner> quantized_;
  std::unique_ptr<Runner> unfed_, float_;
  std::unique_ptr<SharedObservations> shared_;
  std::mutex idle_mutex_;
  std::vector<std::unique_ptr<SequentialRun>> idle_;
  std::map<std::int64_t, ExactSample> kept_;
};

}  // namespace

Measurements measure(const ModelIndex& float_index, const ModelIndex& quantized_index,
                     DebugPlan plan, const std::vector<Tensor>& first, Samples& samples,
                     const DebugOptions& options) {
  const Model &float_model = float_index.model(), &quantized_model = quantized_index.model();
  Measurements total;
  total.sums.tensors.resize(plan.tensors.size());
  ModelPair models(float_model, quantized_model, std::move(plan),
                   session_options(options.runtime, float_model, first), options);
  const bool sequential = models.measure_introduced(first, total.sums.tensors) <= sequential_bytes;
  std::mutex reading;
  SampleRecords* records = options.records;
  const auto is_run = [&](std::int64_t number) {
    return !records || records->runs(number, samples.size());
  };
  // nullopt if another part measures the sample. Sample 0 always runs, because layouts are found on
  // it. The first runtime_samples run even if recorded, unless this is a part, since the loss by
  // arithmetic is measured on them.
  const auto measure_sample = [&](std::int64_t number) -> std::optional<MeasuredSample> {
    std::unique_lock lock(reading);
    if (records && number > 0) {
      const auto record = records->find(debug_section, number);
      const bool is_kept = number < runtime_samples && !records->is_part();
      if (record && !is_kept) return MeasuredSample{number, from_record<SampleSums>(*record)};
      if (!record && !is_run(number)) return std::nullopt;
    }
    const std::vector<Tensor> sample = samples.sample(number);
    lock.unlock();
    return MeasuredSample{number, sequential ? models.measure_sequentially(number, sample)
                                             : models.measure_in_lockstep(number, sample)};
  };
  const auto add = [&](const std::optional<MeasuredSample>& sample) {
    if (sample) {
      if (total.samples > 0 && !fits(total.sums, sample->sums)) throw damaged_record();
      if (is_run(sample->number) && records && !records->find(debug_section, sample->number))
        records->keep(debug_section, sample->number, to_record(sample->sums));
      pool_into(total.sums, sample->sums);
      ++total.samples;
    }
    return !options.progress || options.progress(total.samples, samples.size());
  };
  // Sample 0 runs alone, because layouts are found on it. Lockstep already uses two threads.
  const int at_once = sequential ? std::max(2, thread_count(options.runtime.threads)) : 1;
  try {
    if (add(measure_sample(0))) parallel_in_order(1, samples.size(), at_once, measure_sample, add);
  } catch (const Stopped&) {
    if (total.samples == 0) throw;
    run_group()->resume();
  }
  total.interrupted = total.samples < samples.size();
  total.wanted_samples = samples.size();

  if (!total.interrupted)
    total.arithmetic = measure_arithmetic_loss({quantized_index, &float_index, options.runtime},
                                               models.take_kept());
  SharedObservations& shared = models.shared();
  for (std::size_t i = 0; i < total.sums.tensors.size(); ++i)
    total.tensor_layouts.push_back(shared.layout(i));
  for (std::size_t i = 0; i < total.sums.outputs.size(); ++i)
    total.output_layouts.push_back(shared.layout(total.sums.tensors.size() + i));
  for (const Model* model : {&float_model, &quantized_model})
    for (const OtherValue& output : model->other_outputs())
      if (std::ranges::count(total.other_outputs, output.name) == 0 &&
          std::ranges::count(total.sums.outputs, output.name, &OutputSums::name) == 0)
        total.other_outputs.push_back(output.name);
  return total;
}

}  // namespace vernier
