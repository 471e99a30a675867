#include "cli/evaluation_options.h"

#include "vernier/metrics/pooling.h"

namespace vernier::cli {

void add_judgement_options(CLI::App& command, EvaluateOptions& options) {
  command
      .add_option("--verdict", options.verdict,
                  "Percentage points that a metric may differ from the reference's")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--resamples", options.bootstrap.resamples, "Draws of the bootstrap interval")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

void add_embedding_options(CLI::App& command, KnnTask& task, std::string& pooling) {
  command
      .add_option("--temperature", task.temperature,
                  "Votes are exp(similarity / T) instead of the similarity")
      ->check(CLI::PositiveNumber)
      ->type_name("T");
  command
      .add_option("--pooling", pooling,
                  "How an output becomes an embedding (default: token 0 of [samples,tokens,dims])")
      ->check(
          CLI::IsMember(std::vector<std::string>(pooling_names().begin(), pooling_names().end())));
}

}  // namespace vernier::cli
