#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <string>

#include "vernier/analysis/inputs/inputs.h"
#include "vernier/report/envelope.h"

namespace vernier::cli {

// What models are fed.

inline constexpr const char* dataset_group = "Dataset";  // options that need --dataset

// --samples --input-data --dataset --shape; of the group "Inputs": --sample-index --seed
// --input-range --input-dist; and those of datasets.
void add_input_options(CLI::App& command, InputSpec& spec,
                       const std::string& data_names = "--input-data,--data");

// A text that decoders are fed.
struct TextInput {
  std::string file, tokenizer;
  std::int64_t block_length = 128;
};
// --text --tokenizer --block-length
void add_text_options(CLI::App& command, TextInput& text);
// --at
void add_token_places(CLI::App& command, InputSpec& spec);
// The text as tokens, where one was given: by --tokenizer, or the one beside the model.
void read_text(const TextInput& text, const std::filesystem::path& model, const std::string& python,
               InputSpec& spec);

// --set, for commands that run one model.
void add_constant_options(CLI::App& command, IoMapping& io);
// --map-input --map-output --set, for those that run two.
void add_io_options(CLI::App& command, IoMapping& io);

// Adds what the mapping says to the settings of a report.
void describe_io(const IoMapping& io, RunDescription& run);

// --label-mapping, for commands that look at labels.
void add_label_options(CLI::App& command, DatasetSpec& spec);

}  // namespace vernier::cli
