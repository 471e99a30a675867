#pragma once

#include <cstdint>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/analysis/inputs/io_mapping.h"
#include "vernier/data/dataset_spec.h"
#include "vernier/data/random.h"
#include "vernier/data/sample_order.h"
#include "vernier/data/samples.h"
#include "vernier/model/model.h"
#include "vernier/warning.h"

namespace vernier {

// For InputSpec::samples: all that a file or dataset holds.
inline constexpr std::int64_t all_samples = std::numeric_limits<std::int64_t>::max();

// A token of the sequence that a decoder is fed.
struct TokenPlace {
  enum class Kind {
    first,
    last,
    worst,  // after which the candidate's distribution differs most
    number
  };
  Kind kind = Kind::first;
  std::int64_t number = 0;  // counted from 0
  bool operator==(const TokenPlace&) const = default;
};
// Parses the value of --at: "first,last,worst", or numbers. Throws Error for anything else.
std::vector<TokenPlace> parse_token_places(std::string_view text);

// What a model is fed: the examples of a dataset, the arrays of a file, or else random values.
struct InputSpec {
  std::optional<std::int64_t> samples;  // if unset: default_samples, or all of a file
  std::int64_t default_samples = 1;
  std::optional<std::int64_t> sample_index;  // only this sample, counted from 0
  std::uint64_t seed = 42;
  std::map<std::string, Shape> shapes;       // by input; "" stands for the only input
  std::map<std::string, DrawRange> ranges;   // by input, as shapes are
  std::optional<Distribution> distribution;  // of random floats; if unset: default_distribution
  Distribution default_distribution = Distribution::uniform;
  std::filesystem::path data;  // .npz, or a folder of them
  DatasetSpec dataset;
  // For decoders: a text as blocks of tokens, its name, and the tokens of a sequence to run.
  std::vector<std::vector<std::int64_t>> tokens = {};
  std::string text = {};
  // One token each, behind the cache; if empty: a prompt and steps.
  std::vector<TokenPlace> at = {};
  bool whole_sequences = false;  // feed all tokens of a sequence in one run instead
  std::optional<std::int64_t> longest_sequence = {};  // limits the tokens of a sequence

  // Whether nothing says what to feed, or how much of it.
  bool is_default() const;
};

// The comment in a file of inputs that are synthetic.
inline constexpr const char* synthetic_comment = "vernier: made up";

// Whether the spec names data: a file, a text or a dataset.
bool are_given(const InputSpec& spec);
// Whether the data are real; synthetic inputs that were saved to a file are not.
bool has_real_inputs(const InputSpec& spec);

// Parse the values of --samples ("8", "all"), --shape ("ids=1x128", "1x3x224x224") and
// --input-range ("image=0:255", "0:255"). A value without a name has the name "", for the only
// input. Throw Error for anything else.
std::int64_t parse_samples(std::string_view text);
std::pair<std::string, Shape> parse_input_shape(std::string_view text);
std::pair<std::string, DrawRange> parse_input_range(std::string_view text);

// What inputs are made for. Files beside `path` say how images are preprocessed; `onnx` shows which
// integer inputs are indices, and how large these may be; `io` says which inputs are constants, and
// how many runs make a sample; `reference` gives the sizes of dims that are dynamic in `inputs`.
struct InputTarget {
  std::span<const TensorSpec> inputs;
  std::filesystem::path path;
  const Model* onnx = nullptr;  // null for other formats
  IoMapping io = {};
  std::span<const TensorSpec> reference = {};  // inputs of the other model; empty if not known
  const Model* teacher = nullptr;              // gives a decoder its tokens and cache; null: itself
};

// The inputs of a target, with the reference's sizes for dynamic dims.
std::vector<TensorSpec> known_inputs(const InputTarget& target);

struct Inputs {
  std::unique_ptr<Samples> samples;
  std::string description;  // "random uniform, seed 42" or the file's name
  std::vector<Warning> warnings;
  std::optional<SampleOrder> order = {};  // of the examples of a dataset
};

// Throws Error for a spec that contradicts itself.
void require_consistent(const InputSpec& spec);

// The values of the spec by the name of the input. Throws Error for a value without a name if there
// are several inputs.
std::map<std::string, Shape> shapes_of(const InputSpec& spec, std::span<const TensorSpec> inputs);
std::map<std::string, DrawRange> ranges_of(const InputSpec& spec,
                                           std::span<const TensorSpec> inputs);

// The samples that the spec describes. Throws Error for a spec that contradicts itself or does not
// fit the model.
Inputs make_inputs(const InputTarget& target, const InputSpec& spec);
Inputs make_inputs(const Model& model, const InputSpec& spec, const IoMapping& io = {},
                   std::span<const TensorSpec> reference = {});

}  // namespace vernier
