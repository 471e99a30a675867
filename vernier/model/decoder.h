#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vernier/model/model.h"

namespace vernier {

// The role of a decoder's input in a run that feeds new tokens after those in the cache.
enum class DecoderRole {
  tokens,         // ids of the new tokens
  mask,           // attention mask: all ones
  positions,      // positions of the new tokens
  cache,          // an output of the previous run; empty or zeros in the first run
  last_position,  // position of the last new token, one number per sequence
  total_length,   // number of cached tokens plus new tokens
  use_cache,      // false in the first run, true in later runs
  values,         // any other input: drawn once
};
std::string_view decoder_role_name(DecoderRole role);

// A cache: an input that is fed the output of the previous run.
struct CacheSpec {
  std::string input, output;
  int length_axis = -1;  // the axis along which the cache grows; -1 if its length is fixed
  bool operator==(const CacheSpec&) const = default;
};

struct Decoder {
  std::vector<DecoderRole> roles;  // in the order of the model's inputs
  std::string tokens;              // the input with role `tokens`
  std::string logits;              // the output that scores the next token
  std::int64_t vocabulary = 0;     // number of token ids
  std::vector<CacheSpec> caches;   // in the order of the inputs; empty if the model has no cache
  bool operator==(const Decoder&) const = default;
};

// Patterns of input names with their roles. An override takes precedence over the graph.
using RoleOverrides = std::vector<std::pair<std::string, DecoderRole>>;

// Parses the value of --role, as in 'past_key_values.*=cache'. Throws Error for other text.
std::pair<std::string, DecoderRole> parse_role(std::string_view text);

// Recognises a decoder and the roles of its inputs from the graph, not from tensor names. Tokens
// index a table with as many rows as there are logits. A cache is an input whose elements flow into
// an output, or whose dims match one. Positions have the dims of the tokens or drive a rotary
// embedding. A genai_config.json next to the model, then `overrides`, take precedence. nullopt if
// the model does not score tokens. Throws Error for an override that matches no input, or for a
// cache without a matching output.
std::optional<Decoder> find_decoder(const Model& model, const RoleOverrides& overrides = {});

}  // namespace vernier
