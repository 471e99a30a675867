#pragma once

#include "vernier/analysis/check/graphs.h"

namespace vernier {

// What is left of training: active Dropout, batch statistics, random operators.
Findings check_training_mode(const Graphs& graphs);

}  // namespace vernier
