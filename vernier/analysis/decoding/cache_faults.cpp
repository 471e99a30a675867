#include "vernier/analysis/decoding/cache_faults.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "vernier/analysis/compare/output_parts.h"
#include "vernier/analysis/decoding/decoder_inputs.h"
#include "vernier/error.h"
#include "vernier/metrics/similarity.h"
#include "vernier/runtime/stopping.h"

namespace vernier {
namespace {

// An explanation must raise the SQNR by more than this.
constexpr double least_gain_db = 20;
// Caches with a higher SQNR are not examined: the cost of quantization is no fault of a cache.
constexpr double differs_db = 10;
constexpr std::int64_t most_shift = 4;

// The rows [first, first + count) of a cache along its axis.
Tensor rows(const Tensor& cache, int axis, std::int64_t first, std::int64_t count) {
  return slice_of(cache, {.axis = axis,
                          .begin = first,
                          .end = first + count,
                          .length = cache.shape[static_cast<std::size_t>(axis)]});
}

// SQNR in dB, at most 200; -inf if the two cannot be compared.
double agreement(const Tensor& reference, const Tensor& candidate) {
  if (reference.shape != candidate.shape || reference.size() == 0) return -INFINITY;
  const double sqnr_db = similarity(reference, candidate).sqnr_db;
  return std::isnan(sqnr_db) ? -INFINITY : std::min(sqnr_db, 200.0);
}

// The caches of both models after each run, in the order of the reference's.
class CacheRuns {
 public:
  CacheRuns(const RunDecoder& reference, const RunDecoder& candidate)
      : reference_(reference), candidate_(candidate), paired_(candidate.decoder) {
    const std::vector<CacheSpec>& caches = reference.decoder.caches;
    if (std::ranges::all_of(caches, [&](const CacheSpec& cache) { return has(cache); }))
      paired_.caches = caches;
    else if (caches.size() != paired_.caches.size())
      paired_.caches.clear();
  }

  bool comparable() const { return !paired_.caches.empty(); }
  std::size_t size() const { return paired_.caches.size(); }
  int axis(std::size_t i) const { return reference_.decoder.caches[i].length_axis; }
  const std::string& name(std::size_t i) const { return paired_.caches[i].output; }

  struct Run {
    std::vector<Tensor> reference, candidate;
    std::int64_t next = 0;  // the reference's best token
  };

  // Runs tokens on both models, behind the caches of the run before.
  Run run(const DecoderRun& run, const Run& before) {
    Run result = run_reference(run, before.reference);
    auto outputs = candidate_.runner.run(
        decoder_inputs(paired_, candidate_.runner.inputs(), run, before.candidate));
    result.candidate = take_caches(paired_, outputs, before.candidate);
    return result;
  }

  std::vector<Tensor> reference_caches(std::span<const std::int64_t> tokens) {
    return run_reference({tokens, 0}, {}).reference;
  }

 private:
  bool has(const CacheSpec& cache) const {
    const auto &inputs = candidate_.runner.inputs(), &outputs = candidate_.runner.outputs();
    return std::ranges::count(inputs, cache.input, &TensorSpec::name) > 0 &&
           std::ranges::count(outputs, cache.output, &TensorSpec::name) > 0;
  }

  Run run_reference(const DecoderRun& run, std::span<const Tensor> caches) {
    auto outputs = reference_.runner.run(
        decoder_inputs(reference_.decoder, reference_.runner.inputs(), run, caches));
    Run result;
    const auto logits = std::ranges::find(outputs, reference_.decoder.logits, &Tensor::name);
    if (logits != outputs.end()) result.next = best_token(*logits);
    result.reference = take_caches(reference_.decoder, outputs, caches);
    return result;
  }

  RunDecoder reference_, candidate_;
  Decoder paired_;  // the candidate, with the reference's names of its caches
};

class FaultFinder {
 public:
  FaultFinder(CacheRuns& runs, std::span<const std::int64_t> prompt)
      : runs_(runs), tokens_(prompt.begin(), prompt.end()) {}

  // The faults of the caches of one run; swapped caches exclude all others.
  std::vector<CacheFault> find(const CacheRuns::Run& run, std::int64_t step) {
    std::vector<CacheFault> faults = swapped(run, step);
    if (!faults.empty()) return faults;
    for (std::size_t i = 0; i < runs_.size(); ++i)
      if (auto fault = cut(run, i, step)) faults.push_back(*fault);
    if (faults.empty())
      if (auto fault = moved(run, step)) faults.push_back(*fault);
    return faults;
  }

  void push(std::int64_t token) { tokens_.push_back(token); }

 private:
  std::vector<CacheFault> swapped(const CacheRuns::Run& run, std::int64_t step) const {
    std::vector<CacheFault> faults;
    for (std::size_t i = 0; i < runs_.size(); ++i)
      for (std::size_t j = i + 1; j < runs_.size(); ++j) {
        const double own = std::max(agreement(run.reference[i], run.candidate[i]),
                                    agreement(run.reference[j], run.candidate[j]));
        const double crossed = std::min(agreement(run.reference[i], run.candidate[j]),
                                        agreement(run.reference[j], run.candidate[i]));
        if (explains(own, crossed))
          faults.push_back({.kind = CacheFault::Kind::swapped,
                            .output = runs_.name(i),
                            .other = runs_.name(j),
                            .step = step,
                            .sqnr_db = own,
                            .right_db = crossed});
      }
    return faults;
  }

  static bool explains(double own, double otherwise) {
    return !(own > differs_db) && otherwise > differs_db &&
           otherwise > std::max(own, -differs_db) + least_gain_db;
  }

  // Finds tokens that are missing at either end, or at the positions of others.
  std::optional<CacheFault> cut(const CacheRuns::Run& run, std::size_t i, std::int64_t step) const {
    const int axis = runs_.axis(i);
    const Tensor &reference = run.reference[i], &candidate = run.candidate[i];
    if (axis < 0 || reference.shape.size() != candidate.shape.size()) return std::nullopt;
    const std::int64_t whole = reference.shape[axis], kept = candidate.shape[axis];
    const double own = agreement(reference, candidate);
    std::optional<CacheFault> best;
    for (std::int64_t shift = -most_shift; shift <= std::max(most_shift, whole - kept); ++shift) {
      if (shift == 0 && kept == whole) continue;
      const std::int64_t first = std::max<std::int64_t>(0, -shift);
      const std::int64_t count = std::min(kept - first, whole - (first + shift));
      if (count < 2) continue;
      const double found = agreement(rows(reference, axis, first + shift, count),
                                     rows(candidate, axis, first, count));
      if (!explains(own, found) || (best && found <= best->right_db)) continue;
      best = CacheFault{.kind = kept == whole ? CacheFault::Kind::shifted : CacheFault::Kind::cut,
                        .output = runs_.name(i),
                        .step = step,
                        .shift = shift,
                        .reference_length = whole,
                        .candidate_length = kept,
                        .sqnr_db = own,
                        .right_db = found};
    }
    return best;
  }

  // Compares the newest token in each cache with the reference's at an earlier or later position:
  // behind fewer or more tokens. Only what depends on a token and its position alone, such as the
  // keys of the first layer, is equal there.
  std::optional<CacheFault> moved(const CacheRuns::Run& run, std::int64_t step) {
    std::optional<CacheFault> best;
    for (std::int64_t shift = -2; shift <= 2; ++shift) {
      std::vector<std::int64_t> tokens = tokens_;
      if (shift == 0 || std::ssize(tokens) + shift < 1) continue;
      if (shift < 0)
        tokens.erase(tokens.begin(), tokens.begin() - shift);
      else
        tokens.insert(tokens.begin(), shift, tokens.front());
      const std::vector<Tensor> elsewhere = runs_.reference_caches(tokens);
      for (std::size_t i = 0; i < runs_.size(); ++i) {
        if (runs_.axis(i) < 0) continue;
        const Tensor own = last(run.reference[i], i), found = last(run.candidate[i], i);
        const double before = agreement(own, found),
                     after = agreement(last(elsewhere[i], i), found);
        if (!explains(before, after) || (best && after <= best->right_db)) continue;
        best = CacheFault{.kind = CacheFault::Kind::position,
                          .output = runs_.name(i),
                          .step = step,
                          .shift = shift,
                          .sqnr_db = before,
                          .right_db = after};
      }
    }
    return best;
  }

  Tensor last(const Tensor& cache, std::size_t i) const {
    const int axis = runs_.axis(i);
    return cache.shape[axis] > 0 ? rows(cache, axis, cache.shape[axis] - 1, 1) : cache;
  }

  CacheRuns& runs_;
  std::vector<std::int64_t> tokens_;  // fed to both models so far
};

}  // namespace

std::vector<CacheFault> find_cache_faults(const RunDecoder& reference, const RunDecoder& candidate,
                                          std::span<const std::int64_t> prompt) {
  CacheRuns runs(reference, candidate);
  if (!runs.comparable() || prompt.empty()) return {};
  FaultFinder finder(runs, prompt);
  const CacheRuns::Run prefill = runs.run({prompt}, {});
  std::vector<CacheFault> faults = finder.find(prefill, 0);
  if (!faults.empty()) return faults;
  finder.push(prefill.next);
  try {
    const DecoderRun step{.tokens = {&prefill.next, 1}, .past = std::ssize(prompt)};
    return finder.find(runs.run(step, prefill), 1);
  } catch (const Stopped&) {
    throw;
  } catch (const Error&) {
    return {};  // the caller's own run reports the error
  }
}

bool have_equal_lengths(const RunDecoder& reference, const RunDecoder& candidate,
                        std::span<const std::int64_t> prompt) {
  CacheRuns runs(reference, candidate);
  if (!runs.comparable() || prompt.empty()) return true;
  const CacheRuns::Run run = runs.run({prompt}, {});
  return std::ranges::equal(run.reference, run.candidate, {}, &Tensor::shape, &Tensor::shape);
}

}  // namespace vernier
