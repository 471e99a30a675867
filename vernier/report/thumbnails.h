#pragma once

#include <span>
#include <string>

#include "vernier/data/dataset.h"
#include "vernier/metrics/classification.h"

namespace vernier {

// The detail of a task's page as JSON: "thumbnails" has small pictures of at most 24 samples, as
// data URLs by their index in the dataset. Samples that the reference predicts correctly come
// first. Arrays that do not have 1 or 3 channels and files that cannot be read are left out.
std::string thumbnails_json(Dataset& dataset, std::span<const FlippedSample> samples);

}  // namespace vernier
