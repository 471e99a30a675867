#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "vernier/model/decoder.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// A fault of a cache that can be named: it leaves the first run right, and later steps wrong.
struct CacheFault {
  enum class Kind {
    swapped,   // the output holds what `other` should hold, and vice versa
    cut,       // it holds `candidate_length` tokens, the reference's from index `shift` on
    shifted,   // it is equally long, and holds the reference's tokens from index `shift` on
    position,  // its newest token is at a position that is off by `shift`
  };
  Kind kind = Kind::swapped;
  std::string output, other;
  std::int64_t step = 0;  // 0: the prompt
  std::int64_t shift = 0;
  std::int64_t reference_length = 0, candidate_length = 0;
  double sqnr_db = 0;   // of the output as it is
  double right_db = 0;  // with the fault undone
  bool operator==(const CacheFault&) const = default;
};

// A decoder's runner, and the roles of its inputs.
struct RunDecoder {
  Runner& runner;
  const Decoder& decoder;
};

// Runs the prompt and one step on both models, each with its own cache, and explains the caches
// that differ. An explanation is returned only if it is measured to raise the SQNR by 20 dB. Caches
// are paired by the names of their inputs and outputs, or else by order; empty if that fails.
std::vector<CacheFault> find_cache_faults(const RunDecoder& reference, const RunDecoder& candidate,
                                          std::span<const std::int64_t> prompt);

// Whether the candidate's caches are as long as the reference's after the prompt; if not, they
// cannot be fed back with the same mask. True if they cannot be compared.
bool have_equal_lengths(const RunDecoder& reference, const RunDecoder& candidate,
                        std::span<const std::int64_t> prompt);

}  // namespace vernier
