#pragma once

#include <string>
#include <utility>
#include <vector>

#include "vernier/analysis/compare/compared_sample.h"
#include "vernier/analysis/layers/side_by_side.h"

namespace vernier {

// The figures of one output on one sample.
struct OutputFigures {
  std::string name;
  Match match = Match::none;  // none if the candidate does not have it
  LayerFigures figures;
  LayerEvidence evidence;  // only if this sample exceeds by itself
};

// All that a validation keeps of one sample after the first, as a record.
struct LayersSample {
  std::vector<std::pair<std::size_t, LayerFigures>> layers;  // by index of the layer
  std::vector<OutputFigures> outputs;
  KlSum kl;  // of the next token
};

constexpr Match last_value(Match) { return Match::none; }
constexpr LayerEvidence::Fact last_value(LayerEvidence::Fact) {
  return LayerEvidence::Fact::behind_layers;
}

template <typename Archive>
void fields(Archive& archive, LayoutChange& layout) {
  archive(layout.permutation, layout.sqnr_db);
}

template <typename Archive>
void fields(Archive& archive, LayerLayout& layout) {
  archive(layout.layout, layout.description);
}

template <typename Archive>
void fields(Archive& archive, LayerTruth& truth) {
  archive(truth.error_reference, truth.error_candidate, truth.ratio);
}

template <typename Archive>
void fields(Archive& archive, LayerFigures& figures) {
  archive(figures.reference_shape, figures.candidate_shape, figures.reference_dtype,
          figures.candidate_dtype, figures.compared, figures.similarity, figures.max_abs_reference,
          figures.truth, figures.layout);
}

// Without `weight` and `at`, which outputs do not have.
template <typename Archive>
void fields(Archive& archive, LayerEvidence& evidence) {
  archive(evidence.fact, evidence.layer, evidence.node, evidence.name, evidence.reference,
          evidence.candidate, evidence.in_reference, evidence.in_candidate);
}

template <typename Archive>
void fields(Archive& archive, OutputFigures& output) {
  archive(output.name, output.match, output.figures, output.evidence);
}

template <typename Archive>
void fields(Archive& archive, LayersSample& sample) {
  archive(sample.layers, sample.outputs, sample.kl);
}

}  // namespace vernier
