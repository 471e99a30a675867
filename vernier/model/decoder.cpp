#include "vernier/model/decoder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "vernier/error.h"
#include "vernier/model/genai_config.h"
#include "vernier/model/input_uses.h"
#include "vernier/tensor/name_pattern.h"

namespace vernier {
namespace {

constexpr std::array<std::string_view, 8> role_names = {
    "tokens", "mask", "positions", "cache", "last_position", "total_length", "use_cache", "values"};
// A shorter table holds token types (segments), not tokens or positions.
constexpr std::int64_t least_table = 8;

bool could_be_equal(const Dim& first, const Dim& second) {
  return first.is_dynamic() || second.is_dynamic() || first.size == second.size;
}

// Whether the output may hold the input: the same rank and dims, except that at most one dim may be
// longer in the output.
bool could_continue(const TensorSpec& output, const TensorSpec& input) {
  if (output.dtype != input.dtype || !output.ranked || !input.ranked) return false;
  if (output.shape.size() != input.shape.size() || input.shape.size() < 2) return false;
  int longer = 0;
  for (std::size_t i = 0; i < input.shape.size(); ++i) {
    if (could_be_equal(output.shape[i], input.shape[i])) continue;
    if (output.shape[i].size < input.shape[i].size) return false;
    ++longer;
  }
  return longer <= 1;
}

// Whether the input declares a dim above 1; without one, matching by dims is meaningless.
bool has_known_dim(const TensorSpec& input) {
  return std::ranges::any_of(input.shape, [](const Dim& dim) { return dim.size > 1; });
}

// The dynamic axes whose symbols differ between input and output.
std::vector<int> differing_axes(const TensorSpec& input, const TensorSpec& output) {
  std::vector<int> differing;
  for (int i = 0; i < static_cast<int>(input.shape.size()); ++i)
    if (input.shape[i].is_dynamic() && input.shape[i].symbol != output.shape[i].symbol)
      differing.push_back(i);
  return differing;
}

// The axis along which the output is longer than the input: the one whose symbols differ, else the
// second to last if it is dynamic, else the last dynamic axis.
int length_axis(const TensorSpec& input, const TensorSpec& output) {
  const int rank = static_cast<int>(input.shape.size());
  const std::vector<int> differing = differing_axes(input, output);
  if (differing.size() == 1) return differing[0];
  std::vector<int> open;
  for (int i = 1; i < rank; ++i)
    if (input.shape[i].is_dynamic()) open.push_back(i);
  if (std::ranges::count(open, rank - 2) > 0) return rank - 2;
  return open.empty() ? -1 : open.back();
}

class DecoderFinder {
 public:
  DecoderFinder(const Model& model, const RoleOverrides& overrides)
      : inputs_(model.inputs()), outputs_(model.outputs()), uses_(input_uses(model)) {
    given_.resize(inputs_.size());
    for (const auto& [pattern, role] : overrides) override_roles(pattern, role);
  }

  std::optional<Decoder> find() {
    if (!find_tokens()) return std::nullopt;
    find_caches();
    if (!find_logits()) return std::nullopt;
    for (std::size_t i = 0; i < inputs_.size(); ++i) decoder_.roles.push_back(role(i));
    return std::move(decoder_);
  }

 private:
  void override_roles(const std::string& pattern, DecoderRole role) {
    bool fits = false;
    std::vector<std::string> names;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      names.push_back(inputs_[i].name);
      if (!matches_name(pattern, inputs_[i].name)) continue;
      given_[i] = role;
      fits = true;
    }
    if (!fits)
      throw Error(fmt::format("[inputs] --role {}={}: no input of the model fits; they are {}",
                              pattern, decoder_role_name(role), fmt::join(names, ", ")));
  }

  bool is_free(std::size_t i) const { return !given_[i]; }

  // The input that indexes a table with as many rows as an output has columns; else the input that
  // indexes the longest table.
  bool find_tokens() {
    tokens_ = inputs_.size();
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      if (given_[i] == DecoderRole::tokens) tokens_ = i;
    std::int64_t longest = least_table - 1;
    for (std::size_t i = 0; i < inputs_.size() && tokens_ == inputs_.size(); ++i)
      if (looks_up_tokens(i) && is_row_of_an_output(*uses_[i].index_length)) tokens_ = i;
    if (tokens_ == inputs_.size())
      for (std::size_t i = 0; i < inputs_.size(); ++i)
        if (looks_up_tokens(i) && *uses_[i].index_length > longest) {
          longest = *uses_[i].index_length;
          tokens_ = i;
        }
    if (tokens_ == inputs_.size()) return false;
    decoder_.tokens = inputs_[tokens_].name;
    decoder_.vocabulary = uses_[tokens_].index_length.value_or(0);
    return true;
  }

  bool looks_up_tokens(std::size_t i) const {
    return is_free(i) && is_integer(inputs_[i].dtype) && inputs_[i].shape.size() == 2 &&
           uses_[i].index_length && *uses_[i].index_length >= least_table && !uses_[i].positions &&
           !uses_[i].mask;
  }

  bool is_row_of_an_output(std::int64_t length) const {
    return std::ranges::any_of(outputs_, [&](const TensorSpec& output) {
      return is_float(output.dtype) && output.shape.size() >= 2 &&
             output.shape.back().size == length;
    });
  }

  // First by data flow: the dims of keys and values are the same in every layer, so matching by
  // dims alone is ambiguous.
  void find_caches() {
    std::set<std::string> taken;
    std::vector<std::string> output_of(inputs_.size());
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!may_be_cache(i)) continue;
      std::vector<std::string> moved;
      for (const TensorSpec& output : outputs_)
        if (uses_[i].moved_to.contains(output.name) && could_continue(output, inputs_[i]))
          moved.push_back(output.name);
      if (moved.size() == 1 && taken.insert(moved[0]).second) output_of[i] = moved[0];
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (!may_be_cache(i) || !output_of[i].empty()) continue;
      if (!has_known_dim(inputs_[i]) && given_[i] != DecoderRole::cache) continue;
      const auto found = std::ranges::find_if(outputs_, [&](const TensorSpec& output) {
        return !taken.contains(output.name) && could_continue(output, inputs_[i]) &&
               output.shape.back().size != decoder_.vocabulary;
      });
      if (found == outputs_.end()) continue;
      taken.insert(found->name);
      output_of[i] = found->name;
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) add_cache(i, output_of[i]);
    fix_encoder_lengths();
  }

  // If some caches have different symbols on input and output, a cache with equal symbols does not
  // grow: it holds an encoder's keys and values, which are computed once, with the prompt.
  void fix_encoder_lengths() {
    std::vector<CacheSpec*> fixed;
    for (CacheSpec& cache : decoder_.caches) {
      const TensorSpec& input = *std::ranges::find(inputs_, cache.input, &TensorSpec::name);
      const TensorSpec& output = *std::ranges::find(outputs_, cache.output, &TensorSpec::name);
      const bool named = cache.length_axis >= 0 && !input.shape[cache.length_axis].symbol.empty();
      if (named && differing_axes(input, output).empty()) fixed.push_back(&cache);
    }
    if (fixed.size() == decoder_.caches.size()) return;
    for (CacheSpec* cache : fixed) cache->length_axis = -1;
  }

  bool may_be_cache(std::size_t i) const {
    return given_[i] == DecoderRole::cache ||
           (is_free(i) && is_float(inputs_[i].dtype) && inputs_[i].shape.size() >= 2);
  }

  void add_cache(std::size_t i, const std::string& output) {
    if (output.empty()) {
      if (given_[i] == DecoderRole::cache)
        throw Error(fmt::format(
            "[inputs] --role {}=cache: no output of the model is of its type and rank, and as long "
            "or longer along one axis",
            inputs_[i].name));
      return;
    }
    const auto spec = std::ranges::find(outputs_, output, &TensorSpec::name);
    decoder_.caches.push_back({inputs_[i].name, output, length_axis(inputs_[i], *spec)});
  }

  // The output that is not a cache and has one column per token, or more than half as many; hidden
  // states have far fewer columns than there are tokens. Outputs with a dynamic number of columns
  // qualify if the model has caches. An exact match wins, else the first.
  bool find_logits() {
    const TensorSpec* logits = nullptr;
    for (const TensorSpec& output : outputs_) {
      const bool better = !logits || (output.shape.back().size == decoder_.vocabulary &&
                                      logits->shape.back().size != decoder_.vocabulary);
      if (scores_tokens(output) && better) logits = &output;
    }
    if (!logits) return false;
    if (const std::int64_t columns = logits->shape.back().size; columns > 0)
      decoder_.vocabulary =
          decoder_.vocabulary == 0 ? columns : std::min(decoder_.vocabulary, columns);
    decoder_.logits = logits->name;
    return decoder_.vocabulary > 0;
  }

  bool scores_tokens(const TensorSpec& output) const {
    if (!is_float(output.dtype) || (output.shape.size() != 3 && output.shape.size() != 2))
      return false;
    if (std::ranges::find(decoder_.caches, output.name, &CacheSpec::output) !=
        decoder_.caches.end())
      return false;
    const std::int64_t columns = output.shape.back().size;
    if (columns < 0) return !decoder_.caches.empty();
    return columns >= least_table && 2 * columns > decoder_.vocabulary;
  }

  DecoderRole role(std::size_t i) const {
    const InputUses& uses = uses_[i];
    const TensorSpec& input = inputs_[i];
    if (i == tokens_) return DecoderRole::tokens;
    if (given_[i]) return *given_[i];
    if (std::ranges::find(decoder_.caches, input.name, &CacheSpec::input) != decoder_.caches.end())
      return DecoderRole::cache;
    if (uses.condition && input.shape.size() <= 1) return DecoderRole::use_cache;
    if (input.dtype == DType::boolean && input.shape.size() >= 2) return DecoderRole::mask;
    if (!is_integer(input.dtype)) return DecoderRole::values;
    if (uses.positions) return DecoderRole::positions;
    if (uses.last_position) return DecoderRole::last_position;
    if (uses.total_length) return DecoderRole::total_length;
    if (uses.mask) return DecoderRole::mask;
    const bool looks_up = uses.index_length.has_value();
    if (looks_up && *uses.index_length < least_table) return DecoderRole::values;
    if (is_along_tokens(input)) return DecoderRole::positions;
    if (input.shape.size() == 2) return DecoderRole::mask;
    return input.shape.empty() && uses.length ? DecoderRole::total_length : DecoderRole::values;
  }

  // Whether the input holds one number per new token.
  bool is_along_tokens(const TensorSpec& input) const {
    const Dim& sequence = inputs_[tokens_].shape.back();
    return !input.shape.empty() && input.shape.size() <= 2 &&
           (input.shape.back() == sequence || uses_[&input - inputs_.data()].index_length);
  }

  std::vector<TensorSpec> inputs_, outputs_;
  std::vector<InputUses> uses_;
  std::vector<std::optional<DecoderRole>> given_;
  std::size_t tokens_ = 0;
  Decoder decoder_;
};

}  // namespace

std::string_view decoder_role_name(DecoderRole role) {
  return role_names[static_cast<std::size_t>(role)];
}

std::pair<std::string, DecoderRole> parse_role(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  const bool is_pair = equals != text.npos && equals != 0;
  const auto role =
      is_pair ? std::ranges::find(role_names, text.substr(equals + 1)) : role_names.end();
  if (role == role_names.end())
    throw Error(
        fmt::format("[inputs] --role {}: expected PATTERN=ROLE, as in 'past.*=cache'; the "
                    "roles are {}",
                    text, fmt::join(role_names, ", ")));
  return {std::string(text.substr(0, equals)), static_cast<DecoderRole>(role - role_names.begin())};
}

namespace {

// The roles in a genai_config.json next to the model, without those that match no input.
RoleOverrides configured_roles(const Model& model) {
  if (model.path().empty()) return {};
  const auto config = read_genai_config(model.path().parent_path());
  if (!config || config->model.filename() != model.path().filename()) return {};
  RoleOverrides roles = config->roles;
  const std::vector<TensorSpec> inputs = model.inputs();
  std::erase_if(roles, [&](const auto& role) {
    return std::ranges::none_of(
        inputs, [&](const TensorSpec& input) { return matches_name(role.first, input.name); });
  });
  return roles;
}

}  // namespace

std::optional<Decoder> find_decoder(const Model& model, const RoleOverrides& overrides) {
  RoleOverrides roles = configured_roles(model);
  roles.insert(roles.end(), overrides.begin(), overrides.end());
  return DecoderFinder(model, roles).find();
}

}  // namespace vernier
