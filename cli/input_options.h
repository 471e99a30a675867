#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "vernier/analysis/inputs/inputs.h"
#include "vernier/analysis/text/text_input.h"
#include "vernier/report/envelope.h"

namespace vernier::cli {

// Options for the inputs of models.

inline constexpr const char* dataset_group = "Dataset";  // options that need --dataset

// --samples --input-data --dataset --shape; in the group "Inputs": --sample-index --seed
// --input-range --inputs; and the options of datasets.
void add_input_options(CLI::App& command, InputSpec& spec,
                       const std::string& data_names = "--input-data,--data");

// --text --tokenizer --block-length
void add_text_options(CLI::App& command, TextInput& text);
// --at
void add_token_places(CLI::App& command, InputSpec& spec);

// --set --role --prompt-length, for commands that run one model.
void add_constant_options(CLI::App& command, IoMapping& io);
// --map-input --map-output and the options above, for commands that run two models.
void add_io_options(CLI::App& command, IoMapping& io);

// Adds the mapping to the settings of a report.
void describe_io(const IoMapping& io, RunDescription& run);

// --label-mapping, for commands that use labels.
void add_label_options(CLI::App& command, DatasetSpec& spec);

}  // namespace vernier::cli
