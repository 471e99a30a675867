#include <algorithm>

#include "vernier/analysis/check/finding_kinds.h"
#include "vernier/analysis/diagnosis/ask.h"
#include "vernier/analysis/model_argument.h"

namespace vernier {
namespace {

bool can_run(const CheckResult& check) {
  return std::ranges::none_of(check.findings, [](const Finding& finding) {
    return finding.severity == Severity::error &&
           finding_kind(finding.id).group == CheckGroup::runs;
  });
}

// The checks of the reference: whether it runs, and whether it has the candidate's errors too.
std::vector<std::string> asked_of_reference(const CheckResult& candidate) {
  std::vector<std::string> ids;
  for (const FindingKind& kind : finding_kinds())
    if (kind.severity == Severity::error && kind.group == CheckGroup::runs)
      ids.emplace_back(kind.id);
  for (const Finding& finding : candidate.findings)
    if (finding.severity == Severity::error) ids.push_back(finding.id);
  return ids;
}

}  // namespace

const Finding* own_error(const CheckResult& check, const CheckResult* other) {
  const auto is_error = [&](const Finding& finding) {
    return finding.severity == Severity::error &&
           (!other ||
            std::ranges::find(other->findings, finding.id, &Finding::id) == other->findings.end());
  };
  const auto error = std::ranges::find_if(check.findings, is_error);
  return error == check.findings.end() ? nullptr : &*error;
}

bool ask_soundness(DiagnosisResult& result, const ModelFile& reference_file,
                   const ModelFile& candidate, const DiagnosisOptions& options) {
  asked(options, Question::soundness);
  CheckOptions check_options{.runtime = options.compare.candidate_runtime};
  result.candidate_check = check(candidate.path, candidate.model.get(), check_options);
  if (model_format(reference_file.path) == ModelFormat::onnx) {
    check_options.runtime = options.compare.reference_runtime;
    check_options.only = asked_of_reference(result.candidate_check);
    result.reference_check = check(reference_file.path, reference_file.model.get(), check_options);
  }
  const CheckResult* reference = result.reference_check ? &*result.reference_check : nullptr;
  const Finding* error = own_error(result.candidate_check, reference);
  answer(result, Question::soundness) = error ? AnswerKind::bad : AnswerKind::good;
  if (error) name_cause(result, DiagnosedCause::candidate_unsound, error->id);
  if (!can_run(result.candidate_check)) {  // even if the reference does not run either
    answer(result, Question::soundness) = AnswerKind::bad;
    name_cause(result, DiagnosedCause::candidate_unsound,
               own_error(result.candidate_check, nullptr)->id);
    result.verdict = result.candidate_check.verdict;
    return false;
  }
  if (!reference || can_run(*reference)) return true;
  answer(result, Question::soundness) = AnswerKind::bad;
  name_cause(result, DiagnosedCause::reference_unsound, own_error(*reference, nullptr)->id);
  result.verdict = reference->verdict;
  return false;
}

}  // namespace vernier
