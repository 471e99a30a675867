#pragma once

#include <cstdint>
#include <string>

namespace vernier {

struct ProgressState {
  std::string label;
  std::int64_t done = 0;
  std::int64_t total = 0;
  double seconds = 0;  // since the start
};

// One line without a newline, cut to `width` columns:
// "record  [=====>     ]  12/100  8.1 samples/s  0:11 left".
std::string render_progress(const ProgressState& state, int width = 80);

}  // namespace vernier
