#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "vernier/analysis/inputs/bind_inputs.h"
#include "vernier/analysis/text/text_tasks.h"
#include "vernier/exporting/tokenizer.h"
#include "vernier/runtime/runner.h"

namespace vernier {

// Runs texts through an encoder, up to `batch` at once. Texts of other lengths are padded where the
// model takes a mask, and run apart where it does not.
class TextRunner {
 public:
  // Throws Error for a batch of several that a model of a fixed one cannot take.
  TextRunner(Runner& runner, EncoderInputs encoder, std::int64_t batch);
  // Fed what another model is fed, by the names of its inputs.
  TextRunner(Runner& runner, const TextRunner& like);

  // Calls `visit` with the outputs of each text, in their order: the rows that are its own, with
  // those of padding behind them. Throws Error for an output without a row for each text.
  using VisitOutputs = std::function<void(std::vector<Tensor> outputs)>;
  void run(std::span<const EncodedText> texts, const VisitOutputs& visit);

  // The lowest SQNR of the first texts in a batch beside the same texts alone; nothing where they
  // are run alone anyway.
  std::optional<double> similarity_alone(std::span<const EncodedText> texts);

  const std::vector<std::string>& warnings() const { return bindings_.warnings; }

 private:
  std::size_t batch_at(std::span<const EncodedText> texts) const;
  void run_batch(std::span<const EncodedText> texts, const VisitOutputs& visit);

  Runner& runner_;
  EncoderInputs encoder_;
  std::int64_t batch_ = 1;
  std::vector<TensorSpec> inputs_;  // that the roles are of
  InputBindings bindings_;
  bool is_bound_ = false;
};

}  // namespace vernier
