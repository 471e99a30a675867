#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vernier/model/decoder.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// An output that is an input of the next step, as the state of a recurrent model is.
struct Feedback {
  std::string output, input;
  bool greedy = false;  // the output scores tokens: the best of its last row is fed
  bool operator==(const Feedback&) const = default;
};

// How the inputs and outputs of two models belong together, where their names do not say.
struct IoMapping {
  std::map<std::string, std::string> inputs, outputs;  // the reference's name: the candidate's
  // Values of inputs of either model; a single one fills the whole input.
  std::map<std::string, std::vector<double>> constants;
  // With steps above 1 a sample is a sequence of runs. State begins as zeros, unless `constants` or
  // the input data say otherwise.
  std::vector<Feedback> feedback;
  std::int64_t steps = 1;
  bool teacher = false;  // both models are fed the reference's state, instead of each its own
  // Of decoders: what inputs are to them, and the sequences that they are fed: a prompt, and steps
  // of one token behind it.
  RoleOverrides roles = {};
  std::int64_t prompt_length = 16;
  std::int64_t decode_steps = 3;
  bool generate = false;  // each model continues with its own best tokens, not the reference's
  bool operator==(const IoMapping&) const = default;
};

// The values of --map-input, --map-output ("REFERENCE=CANDIDATE") and --feedback ("OUTPUT=INPUT"),
// and of --set ("sr=16000", "size=[224,224]"). Throw Error for anything else.
std::pair<std::string, std::string> parse_name_pair(std::string_view text, std::string_view option);
std::pair<std::string, std::vector<double>> parse_constant(std::string_view text);

// Throws Error, with the names there are and the nearest, unless `names` holds `name`: they are
// those of the inputs or outputs (`noun`) of "the reference" (`owner`).
void require_name(std::string_view name, std::span<const std::string> names,
                  std::string_view option, std::string_view owner, std::string_view noun);

// The same for the constants of a model that is run alone.
void require_inputs(const IoMapping& io, std::span<const TensorSpec> inputs);

std::vector<std::string> names_of(std::span<const TensorSpec> specs);
std::vector<std::string> names_of(std::span<const Tensor> tensors);

// An input that holds the values: one of them everywhere, or as many as it has elements. Throws
// Error for another number of values and for those that its dtype cannot hold.
Tensor constant_tensor(const TensorSpec& input, Shape shape, std::span<const double> values);

// What begins every sequence or sample with the same value: `constants`, and zeros for state that
// is fed back.
std::map<std::string, std::vector<double>> initial_values(const IoMapping& io);

}  // namespace vernier
