#pragma once

#include <span>
#include <string>

#include "vernier/data/dataset.h"
#include "vernier/metrics/classification.h"

namespace vernier {

// The detail of a task's page, JSON: "thumbnails" has small pictures of some of the samples, as
// data URLs by their number in the dataset. Those that the reference has right come first, 24 at
// most. What is no picture is left out: arrays
// with other than 1 or 3 channels, and files that cannot be read.
std::string thumbnails_json(Dataset& dataset, std::span<const FlippedSample> samples);

}  // namespace vernier
