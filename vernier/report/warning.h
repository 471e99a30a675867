#pragma once

#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/decoding/cache_faults.h"
#include "vernier/warning.h"

namespace vernier {

// "output 'y' is paired with the reference's 'z' by position only; confirm with --map-output z=y"
std::string warning_text(const Warning& warning);
std::vector<std::string> warning_texts(std::span<const Warning> warnings);

// "caches 'present.0.key' and 'present.1.key' are swapped: ...", with both figures.
std::string cache_fault_text(const CacheFault& fault);
std::vector<std::string> cache_fault_texts(std::span<const CacheFault> faults);

}  // namespace vernier
