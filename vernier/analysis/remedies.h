#pragma once

#include <vector>

#include "vernier/analysis/diagnosis.h"

namespace vernier {

inline constexpr double most_of_it = 0.6;  // of a gain

inline double gain_of(const Remedy& remedy) { return remedy.after_db - remedy.before_db; }

// Of those that switched quantizers have shown to help: the cheapest, and the largest set of nodes
// to keep in float.
std::vector<Remedy> measured_remedies(const Sensitivity& sensitivity, const ComparedModels& models);

// Whether `vernier repair` stores weights of the candidate so that no kernel saturates on them.
bool repair_stores_unsigned(const ComparedModels& models);

// The best first, but what costs nothing before what costs speed and gains little more.
void rank_remedies(std::vector<Remedy>& remedies);

}  // namespace vernier
