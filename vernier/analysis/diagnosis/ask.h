#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vernier/analysis/diagnosis/diagnosis.h"
#include "vernier/model/index.h"

namespace vernier {

// The questions of a diagnosis. Each function writes its answer and its findings into the result.

AnswerKind& answer(DiagnosisResult& result, Question question);
void name_cause(DiagnosisResult& result, DiagnosedCause cause, std::string subject = "");

// Announces that the question is asked now; returns the progress for the runs that answer it.
Progress asked(const DiagnosisOptions& options, Question question);

// Opens a reference that is an ONNX model; null otherwise: then use models.reference_runner.
std::unique_ptr<Runner> reference_runner(const ComparedModels& models,
                                         const DiagnosisOptions& options);

// The lowest mean SQNR of an output; infinity if none was compared.
double worst_db(const std::vector<PairResult>& outputs);

// Compares a changed candidate with the reference, with the inputs and mapping of the diagnosis.
CompareResult compared(const Model& changed, const ComparedModels& models, Samples& samples,
                       const DiagnosisOptions& options, bool exact);

// The worst output's mean SQNR in that comparison.
double sqnr_of(const Model& changed, const ComparedModels& models, Samples& samples,
               const DiagnosisOptions& options, bool exact);

// Whether the remedy gains noticeably: then it is reported, and the place is found.
bool is_proven(DiagnosisResult& result, Remedy remedy);

// The first error of a check that the other model does not have too; null if none. An error of both
// models cannot be why they differ.
const Finding* own_error(const CheckResult& check, const CheckResult* other);

// A file as load_to_check() loads it.
struct ModelFile {
  std::filesystem::path path;
  std::unique_ptr<const ModelIndex> model = nullptr;
};

// Whether both models can be run; if not, nothing else can be asked.
bool ask_soundness(DiagnosisResult& result, const ModelFile& reference_file,
                   const ModelFile& candidate, const DiagnosisOptions& options);

// Weights, inputs, outputs, and the effect of this CPU's kernels.
void ask_outputs(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                 const DiagnosisOptions& options);

// Names the cause that the comparison itself tells. False if it has to be sought inside the models.
bool explained_by_comparison(DiagnosisResult& result);

// Whether the optimiser makes a float candidate differ whose file is right.
bool is_optimizers_fault(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                         const DiagnosisOptions& options);

// Where the difference begins: in a quantizer if the candidate is quantized and the reference is an
// ONNX model, otherwise in a layer.
void ask_place(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
               const DiagnosisOptions& options);

// What recovers most of the loss of this machine against exact arithmetic; null if nothing that was
// run does.
const RuntimeRemedy* runtime_remedy(const DiagnosisResult& result);

// Uses the gap between this machine's outputs and exact arithmetic, which is already measured.
void name_runtime(DiagnosisResult& result, const ComparedModels& models);

// Whether a scale of a QOperator model was changed after the bias was quantized. That makes the
// bias wrong and the range too narrow; a run with the former scale shows whether it repairs both.
bool is_changed_scale(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                      const DiagnosisOptions& options);

// Whether the candidate differs because a Dropout or BatchNormalization, which check has found,
// computes as in training: a run in inference mode tells.
bool is_in_training(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                    const DiagnosisOptions& options);

// Whether two inputs, or two outputs, of the candidate have each other's name: a run that maps each
// to the other tells.
bool are_swapped(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                 const DiagnosisOptions& options);

// Whether the candidate differs because it holds square matrices transposed: a run with their axes
// swapped tells.
bool has_transposed_weights(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                            const DiagnosisOptions& options);

// Measures what ranges calibrated on these inputs would gain, if they are real. Names the
// calibration as the cause if that is much, the inputs are unlike the calibration data, and no
// single quantizer is to blame.
void ask_ranges(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                const DiagnosisOptions& options);

// Of the remedies that switched quantizers have shown to help: the best of each kind, and the
// largest set of nodes to keep in float.
std::vector<Remedy> measured_remedies(const Sensitivity& sensitivity, const ComparedModels& models);

// Sorts by SQNR, but puts remedies that cost no speed first, if with them the limits are clearly
// kept or little more is to be gained.
void rank_remedies(std::vector<Remedy>& remedies, const std::vector<Limit>& limits);

// Blames a range instead of nodes if another range for one tensor removes most of the noise.
void name_range(DiagnosisResult& result);

// Blames one quantizer's range instead of noise, if the outputs are much better with a range that
// fits the values of these inputs: then it makes most of the noise.
void name_unfit_range(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                      const DiagnosisOptions& options);

}  // namespace vernier
