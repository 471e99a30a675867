#include "vernier/analysis/task/batch_dependence.h"

#include <fmt/format.h>

namespace vernier {

std::optional<std::string> batch_dependence(double alone_db) {
  constexpr double same_answer_db = 60;
  if (!(alone_db < same_answer_db)) return std::nullopt;
  return fmt::format(
      "[task] the candidate's answers depend on the other examples of a batch: the same example "
      "gets another answer when it is run alone (SQNR {:.1f} dB). Dynamic quantization does that, "
      "for it takes its ranges from the whole batch; --batch 1 scores each example by itself",
      alone_db);
}

}  // namespace vernier
