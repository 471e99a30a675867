#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "vernier/model/model.h"

namespace vernier {

// What an input is to a model that continues a sequence of tokens, in a run that feeds some tokens
// behind those that its cache holds.
enum class DecoderRole {
  tokens,         // the ids that are fed
  mask,           // ones: every token may be attended to
  positions,      // of the tokens that are fed
  cache,          // what an output of the run before holds; empty, or zeros, at first
  last_position,  // of the tokens that are fed, one number a sequence
  total_length,   // of the cache and the tokens that are fed
  use_cache,      // false in the first run, true behind it
  values,         // anything else: drawn once
};
std::string_view decoder_role_name(DecoderRole role);
std::optional<DecoderRole> parse_decoder_role(std::string_view name);

// An input that an output of the last run is fed into.
struct CacheSpec {
  std::string input, output;
  int length_axis = -1;  // along which it grows; -1: its length is fixed
  bool operator==(const CacheSpec&) const = default;
};

struct Decoder {
  std::vector<DecoderRole> roles;  // in the order of the model's inputs
  std::string tokens;              // the input of that role
  std::string logits;              // the output that scores the next token
  std::int64_t vocabulary = 0;     // how many tokens there are
  std::vector<CacheSpec> caches;   // in the order of the inputs; empty: it has none
  bool operator==(const Decoder&) const = default;
};

// A pattern of input names, and the role that those inputs have whatever the graph says.
using RoleOverrides = std::vector<std::pair<std::string, DecoderRole>>;

// The value of --role, as in 'past_key_values.*=cache'. Throws Error for anything else.
std::pair<std::string, DecoderRole> parse_role(std::string_view text);

// Tells a decoder, and what its inputs are to it, from the graph: tokens are looked up in a table
// as long as a row of logits; a cache is what an output continues, by the tensors between or by its
// dims; positions have the dims of the tokens or are what a rotary embedding turns by. Names say
// nothing. Nothing for a model that scores no tokens. Throws Error for an override that fits no
// input.
std::optional<Decoder> find_decoder(const Model& model, const RoleOverrides& overrides = {});

}  // namespace vernier
