#pragma once

// The library in one header. What this header does not reach is not installed, and may change.

#include "vernier/analysis/check/check.h"
#include "vernier/analysis/compare.h"
#include "vernier/analysis/debug/debug.h"
#include "vernier/analysis/layers/layers.h"
#include "vernier/analysis/task/evaluate_task.h"
#include "vernier/error.h"
#include "vernier/runtime/open_runner.h"
#include "vernier/version.h"
