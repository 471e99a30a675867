#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "vernier/analysis/diagnosis/diagnosis.h"

namespace vernier {

// The questions of a diagnosis. Each writes its answer, and what it found, into the result.

inline constexpr double noticeable_db = 0.5;

AnswerKind& answer(DiagnosisResult& result, Question question);
void name_cause(DiagnosisResult& result, DiagnosedCause cause, std::string subject = "");

// Says that the question is asked now; the progress is of what answers it.
Progress asked(const DiagnosisOptions& options, Question question);

// The reference, opened, where it is an ONNX model; else models.reference_runner is it.
std::unique_ptr<Runner> reference_runner(const ComparedModels& models,
                                         const DiagnosisOptions& options);

// The lowest mean SQNR of an output; infinity where none was compared.
double worst_db(const std::vector<PairResult>& outputs);

// Such a candidate beside the reference, all else as it was compared.
CompareResult compared(const Model& changed, const ComparedModels& models, Samples& samples,
                       const DiagnosisOptions& options, bool exact);

// The worst output's SQNR of that.
double sqnr_of(const Model& changed, const ComparedModels& models, Samples& samples,
               const DiagnosisOptions& options, bool exact);

// The first error of a check that the other model does not have too: what both have cannot be why
// they differ.
const Finding* own_error(const CheckResult& check, const CheckResult* other);

// False where the models cannot be run, so that nothing else can be asked.
bool ask_soundness(DiagnosisResult& result, const std::filesystem::path& reference_path,
                   const std::filesystem::path& candidate, const DiagnosisOptions& options);

// Weights, inputs, outputs, and what this CPU's kernels make of them.
void ask_outputs(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                 const DiagnosisOptions& options);

// What the comparison itself tells. False where it must be looked for inside the models.
bool explained_by_comparison(DiagnosisResult& result);

// Whether the optimiser makes a float candidate differ that is right as its file says.
bool is_optimizers_fault(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                         const DiagnosisOptions& options);

// Where the difference begins. Only a candidate that is quantized from an ONNX model has quantizers
// to look at; any other has layers.
void ask_place(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
               const DiagnosisOptions& options);

// What gives back most of what is lost between exact arithmetic and this machine; null: nothing
// that was run.
const RuntimeRemedy* runtime_remedy(const DiagnosisResult& result);

// The gap between this machine's figures and exact arithmetic is measured already.
void name_runtime(DiagnosisResult& result, const ComparedModels& models);

// A scale of a QOperator model that the bias behind it was not stored for. The bias is wrong with
// it, and what the quantizer cuts off is missing: the scale as it was brings both back.
bool is_changed_scale(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                      const DiagnosisOptions& options);

// Whether it differs because a Dropout or BatchNormalization computes as in training, which check
// has found: a run in which they compute as in inference tells.
bool is_in_training(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                    const DiagnosisOptions& options);

// Whether two inputs, or two outputs, of the candidate have each other's name: a run tells that
// maps each to the other.
bool are_swapped(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                 const DiagnosisOptions& options);

// Whether square matrices that the candidate holds transposed are why it differs: a run with their
// axes swapped tells.
bool has_transposed_weights(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                            const DiagnosisOptions& options);

// What ranges of these inputs would gain, if they are real. It was calibrated on others if that is
// much, they are unlike those of its calibration, and no quantizer alone is to blame.
void ask_ranges(DiagnosisResult& result, const ComparedModels& models, Samples& samples,
                const DiagnosisOptions& options);

// Of those that switched quantizers have shown to help: the cheapest, and the largest set of nodes
// to keep in float.
std::vector<Remedy> measured_remedies(const Sensitivity& sensitivity, const ComparedModels& models);

// The best first, but what costs nothing, and with which the limits are clearly kept or little more
// is to be gained, before what costs speed.
void rank_remedies(std::vector<Remedy>& remedies, const std::vector<Limit>& limits);

// Nodes are not to blame for their noise where another range for one tensor takes most of it away.
void name_range(DiagnosisResult& result);

}  // namespace vernier
