#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vernier/model/decoder.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// An output that is an input of the next step, such as the state of a recurrent model.
struct Feedback {
  std::string output, input;
  bool greedy = false;  // the output holds logits: the best token of its last row is fed
  bool operator==(const Feedback&) const = default;
};

// How the inputs and outputs of two models correspond, if their names do not show it.
struct IoMapping {
  std::map<std::string, std::string> inputs, outputs;  // reference's name to candidate's
  // Values of inputs of either model; a single value fills the whole input.
  std::map<std::string, std::vector<double>> constants;
  // If `steps` is above 1, a sample is a sequence of runs. State begins as zeros, unless
  // `constants` or the input data give it.
  std::vector<Feedback> feedback;
  std::int64_t steps = 1;
  bool teacher = false;  // both models are fed the reference's state, not their own
  // For decoders: the roles of their inputs, and the sequences that they are fed: a prompt, then
  // steps of one token.
  RoleOverrides roles = {};
  std::int64_t prompt_length = 16;
  std::optional<std::int64_t> decode_steps = std::nullopt;  // if unset, 3
  bool generate = false;  // each model continues with its own best tokens, not the reference's
  bool operator==(const IoMapping&) const = default;
};

// Parse the values of --map-input, --map-output ("REFERENCE=CANDIDATE"), --feedback
// ("OUTPUT=INPUT") and --set ("sr=16000", "size=[224,224]"). Throw Error for anything else.
std::pair<std::string, std::string> parse_name_pair(std::string_view text, std::string_view option);
std::pair<std::string, std::vector<double>> parse_constant(std::string_view text);

// Throws Error, with all names and the nearest one, unless `names` holds `name`. `names` are the
// inputs or outputs (`noun`) of `owner`, such as "the reference".
void require_name(std::string_view name, std::span<const std::string> names,
                  std::string_view option, std::string_view owner, std::string_view noun);

// Requires that the constants name inputs of a model that is run alone.
void require_inputs(const IoMapping& io, std::span<const TensorSpec> inputs);

std::vector<std::string> names_of(std::span<const TensorSpec> specs);
std::vector<std::string> names_of(std::span<const Tensor> tensors);

// An input tensor that holds the values: a single value everywhere, or one for each element. Throws
// Error for another number of values and for those that its dtype cannot hold.
Tensor constant_tensor(const TensorSpec& input, Shape shape, std::span<const double> values);

// The inputs that have the same values at the start of every sample: `constants`, and zeros for
// state that is fed back.
std::map<std::string, std::vector<double>> initial_values(const IoMapping& io);

}  // namespace vernier
