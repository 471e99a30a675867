#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "vernier/model/decoder.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// What is wrong with a cache, where it can be named: a fault of one leaves the first run right, or
// nearly so, and every step behind it wrong.
struct CacheFault {
  enum class Kind {
    swapped,   // the output holds what `other` should hold, and the other way round
    cut,       // it holds `candidate_length` tokens, from the reference's number `shift` on
    shifted,   // it is as long, and holds the reference's tokens from number `shift` on
    position,  // its newest token stands where the reference's does `shift` places further
  };
  Kind kind = Kind::swapped;
  std::string output, other;
  std::int64_t step = 0;  // 0: the prompt
  std::int64_t shift = 0;
  std::int64_t reference_length = 0, candidate_length = 0;
  double sqnr_db = 0;   // as the outputs are compared
  double right_db = 0;  // as the fault explains them
  bool operator==(const CacheFault&) const = default;
};

// "present.0.key and present.1.key are swapped (...)": with both figures.
std::string cache_fault_text(const CacheFault& fault);

// A decoder that is run, and what its inputs are to it.
struct RunDecoder {
  Runner& runner;
  const Decoder& decoder;
};

// Runs the prompt and one step on both, each behind its own cache, and explains the caches that
// differ: every explanation is measured, and is given only where it makes a difference of 20 dB.
// Caches belong together by the names of their inputs and outputs.
std::vector<CacheFault> find_cache_faults(const RunDecoder& reference, const RunDecoder& candidate,
                                          std::span<const std::int64_t> prompt);

// Whether the candidate's caches are as long as the reference's after the prompt: else they cannot
// be fed back beside the same mask.
bool have_equal_lengths(const RunDecoder& reference, const RunDecoder& candidate,
                        std::span<const std::int64_t> prompt);

}  // namespace vernier
