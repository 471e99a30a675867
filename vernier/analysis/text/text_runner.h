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

// Runs texts through an encoder, up to `batch` in one run. Texts of different lengths are padded if
// the model takes a mask or fixes the length, and are run separately if not.
class TextRunner {
 public:
  // Throws Error if `batch` is above 1 and the model's batch size is fixed.
  TextRunner(Runner& runner, EncoderInputs encoder, std::int64_t batch);
  // Fed the inputs of another model, bound to its own by name.
  TextRunner(Runner& runner, const TextRunner& like);

  // Calls `visit` with the outputs of each text, in order: the text's own rows, then rows of
  // padding. Throws Error for an output without a row for each text.
  using VisitOutputs = std::function<void(std::vector<Tensor> outputs)>;
  void run(std::span<const EncodedText> texts, const VisitOutputs& visit);

  // The lowest SQNR of the first texts in a batch against the same texts alone; nullopt if they are
  // run alone anyway.
  std::optional<double> similarity_alone(std::span<const EncodedText> texts);

  const std::vector<std::string>& warnings() const { return bindings_.warnings; }

 private:
  std::size_t batch_at(std::span<const EncodedText> texts) const;
  void run_batch(std::span<const EncodedText> texts, const VisitOutputs& visit);

  Runner& runner_;
  EncoderInputs encoder_;
  std::int64_t batch_ = 1;
  std::vector<TensorSpec> inputs_;  // the inputs that encoder_ describes
  InputBindings bindings_;
  bool is_bound_ = false;
};

}  // namespace vernier
