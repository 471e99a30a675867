#include "tests/fuzz/targets.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "tests/fixture.h"
#include "vernier/analysis/baseline.h"
#include "vernier/analysis/compare/compared_sample.h"
#include "vernier/analysis/debug/observe.h"
#include "vernier/analysis/inputs/inputs.h"
#include "vernier/analysis/inputs/io_mapping.h"
#include "vernier/analysis/inspect.h"
#include "vernier/analysis/layers/layers_sample.h"
#include "vernier/analysis/limits.h"
#include "vernier/analysis/parts/part_file.h"
#include "vernier/analysis/quantize/ranges.h"
#include "vernier/analysis/task/predictions.h"
#include "vernier/analysis/zoo/zoo_file.h"
#include "vernier/data/arrow_file.h"
#include "vernier/data/dataset.h"
#include "vernier/data/dataset_formats.h"
#include "vernier/data/label_mapping.h"
#include "vernier/data/preprocess.h"
#include "vernier/data/preprocessing_config.h"
#include "vernier/data/text_rows.h"
#include "vernier/error.h"
#include "vernier/exporting/sidecar.h"
#include "vernier/model/convert_fp16.h"
#include "vernier/model/edit.h"
#include "vernier/model/genai_config.h"
#include "vernier/model/index.h"
#include "vernier/model/model.h"
#include "vernier/model/skeleton.h"
#include "vernier/runtime/host_description.h"
#include "vernier/tensor/inflate_limit.h"
#include "vernier/tensor/name_pattern.h"
#include "vernier/tensor/npy.h"
#include "vernier/tensor/npz.h"
#include "vernier/tensor/python_literal.h"
#include "vernier_onnx.pb.h"

namespace vernier::fuzz {
namespace {

namespace fs = std::filesystem;

std::string_view text_of(Bytes input) {
  return {reinterpret_cast<const char*>(input.data()), input.size()};
}

fs::path written(Bytes input, const fs::path& path) {
  std::ofstream(path, std::ios::binary) << text_of(input);
  return path;
}

void require(bool holds, const std::string& what) {
  if (!holds) throw std::logic_error(what);
}

void npy(Bytes input, const fs::path& folder) { read_npy(written(input, folder / "x.npy")); }

void npz(Bytes input, const fs::path& folder) {
  const NpzReader reader(written(input, folder / "x.npz"));
  for (const std::string& name : reader.names()) reader.read(name);
}

void idx(Bytes input, const fs::path& folder) {
  read_idx(written(input, folder / "x-images-idx3-ubyte"));
}

// Loads as a file of one's own is loaded, looks at everything, and edits it.
void onnx(Bytes input, const fs::path& folder) {
  const fs::path path = written(input, folder / "x.onnx");
  inspect(path);
  Model model = Model::load(path);
  const ModelIndex index(model);
  const std::vector<std::string> names = tensor_names(model);
  convert_to_fp16(model);
  expose_outputs(model, names);
}

// What is left out comes back: the model is the same.
void skeletons(Bytes input, const fs::path&) {
  const std::optional<std::string> without = skeleton(input, "x.onnx", 16);
  vernier_onnx::ModelProto whole;
  const bool is_model = whole.ParseFromArray(input.data(), static_cast<int>(input.size()));
  if (!without) return require(!is_model, "a model has no skeleton");
  const std::string again =
      flatten(with_weights(std::as_bytes(std::span(*without)), "x.onnx", input));
  vernier_onnx::ModelProto restored;
  if (!is_model) return;
  require(restored.ParseFromString(again), "the restored model is no message");
  require(restored.SerializeAsString() == whole.SerializeAsString(), "the restored model differs");
}

void sidecar(Bytes input, const fs::path& folder) {
  written(input, folder / "x.json");
  read_sidecar(folder / "x.onnx");
  exported_tensors(folder / "x.onnx");
}

void label_mapping(Bytes input, const fs::path& folder) {
  read_label_mapping(written(input, folder / "config.json"), {"cat", "dog", "n01440764"});
}

// Two bytes of size, then a preprocessor_config.json.
void preprocessing(Bytes input, const fs::path& folder) {
  if (input.size() < 2) return;
  const auto size = [&](int at) { return 1 + std::to_integer<int>(input[at]) % 64; };
  const Preprocessing preprocessing =
      read_preprocessing(written(input.subspan(2), folder / "preprocessor_config.json"));
  const Image image = make_image(size(0), size(1), 3);
  // What is asked for may be as large as the config likes, but not larger than the test's memory.
  if (preprocessing.resize) {
    const Size to = resized_size(*preprocessing.resize, {image.height, image.width});
    if (std::int64_t{to.height} * to.width > (1 << 20)) return;
  }
  const auto is_large = [](const Size& to) { return std::int64_t{to.height} * to.width > 1 << 20; };
  if (preprocessing.center_crop && is_large(preprocessing.center_crop->size)) return;
  if (preprocessing.pad_to && is_large(*preprocessing.pad_to)) return;
  preprocess(image, preprocessing, {"pixels", DType::f32, Layout::nchw, 3, 1, -1, -1});
}

void images(Bytes input, const fs::path&) {
  try {
    decode_image(input, "image");
  } catch (const Error&) {
    decode_label_map(input, "image");
  }
}

void parquet(Bytes input, const fs::path& folder) {
  const auto dataset = open_dataset(written(input, folder / "x.parquet").string());
  for (std::int64_t row = 0; row < std::min<std::int64_t>(dataset->size(), 4); ++row)
    dataset->read(std::span(&row, 1));
}

void arrow(Bytes input, const fs::path& folder) {
  const ArrowFile file(written(input, folder / "x.arrow"));
  for (std::int64_t row = 0; row < std::min<std::int64_t>(file.rows(), 4); ++row) {
    const ArrowFile::Place place = file.find(row);
    for (const ArrowArray& column : place.columns) {
      if (column.field->kind == ArrowField::Kind::list) column.range(place.row);
      if (column.field->kind == ArrowField::Kind::number) column.integer(place.row);
      if (column.field->kind == ArrowField::Kind::text) column.bytes(place.row);
    }
  }
}

void host_message(Bytes input, const fs::path&) {
  read_description(std::string(text_of(input)), {.source = "model.py:make"});
}

const std::vector<std::string> metrics = {"sqnr_db", "max_abs_diff", "cosine"};

// A limit that is read and written is the same limit.
void limits(Bytes input, const fs::path&) {
  const Limit limit = parse_limit(text_of(input), metrics);
  if (limit.value == limit.value)
    require(parse_limit(format_limit(limit), metrics) == limit, "the limit differs");
}

void baseline(Bytes input, const fs::path& folder) {
  read_baseline(written(input, folder / "baseline.json"), metrics);
}

void ranges(Bytes input, const fs::path& folder) {
  read_ranges(written(input, folder / "ranges.json"));
}

void part(Bytes input, const fs::path& folder) { read_part(written(input, folder / "x.vpart")); }

void records(Bytes input, const fs::path&) {
  const auto attempt = [&]<typename Sample>(const Sample&) {
    try {
      from_record<Sample>(text_of(input));
    } catch (const Error&) {
    }
  };
  attempt(ComparedSample());
  attempt(SampleSums());
  attempt(LayersSample());
  attempt(BlockAnswers());
}

void zoo(Bytes input, const fs::path& folder) { read_zoo(written(input, folder / "zoo.json")); }

void genai_config(Bytes input, const fs::path& folder) {
  written(input, folder / "genai_config.json");
  read_genai_config(folder);
}

void text_rows(Bytes input, const fs::path& folder) {
  try {
    read_text_rows(written(input, folder / "x.json"), 10);
  } catch (const Error&) {
    read_text_rows(written(input, folder / "x.jsonl"), 10);
  }
}

void arguments(Bytes input, const fs::path&) {
  const auto attempt = [](auto parse) {
    try {
      parse();
    } catch (const Error&) {
    }
  };
  const std::string text(text_of(input));
  attempt([&] { parse_samples(text); });
  attempt([&] { parse_input_shape(text); });
  attempt([&] { parse_input_range(text); });
  attempt([&] { parse_name_pair(text, "--map-input"); });
  attempt([&] { parse_constant(text); });
  attempt([&] { parse_python_literal(text); });
  matches_name(text, "backbone/conv1");
}

}  // namespace

const std::vector<Target>& targets() {
  static const std::vector<Target> all = {
      {"npy", npy, {".npy"}, {npy_header(DType::f32, std::vector<std::int64_t>{0})}},
      {"npz", npz, {".npz"}},
      {"idx", idx, {".gz"}, {std::string("\0\0\x08\x03\0\0\0\1\0\0\0\1\0\0\0\1x", 17)}},
      {"onnx", onnx, {".onnx"}},
      {"skeleton", skeletons, {".onnx"}},
      {"sidecar",
       sidecar,
       {".json"},
       {R"({"inputs": [{"name": "x", "dtype": "int64", "shape": ["batch", 16]}], "outputs": [{"name": "y"}]})"}},
      {"label_mapping",
       label_mapping,
       {".json"},
       {R"({"id2label": {"0": "cat", "1": "dog"}})", R"({"cat": 0})"}},
      {"preprocessing",
       preprocessing,
       {},
       {R"(ab{"do_resize": true, "size": {"shortest_edge": 9}, "do_center_crop": true, "crop_size": 8, "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5]})"}},
      {"images", images, {".bmp", ".jpg", ".png", ".ppm", ".webp"}},
      {"parquet", parquet, {".parquet"}},
      {"arrow", arrow, {".arrow"}},
      {"host_message",
       host_message,
       {},
       {R"({"type": "description", "inputs": [{"name": "x", "dtype": "float32", "shape": [1, 4]}], "outputs": [{"name": "y", "dtype": "float32"}], "layers": [{"name": "fc", "type": "Linear", "module": "fc", "call": 0, "source": "m.py:3", "constants": {"eps": 1e-5}}], "parameters": [{"name": "fc.weight", "dtype": "float32", "shape": [4, 4]}], "unwatched": [{"name": "a", "reason": "b"}], "warnings": ["w"], "versions": {"python": "3.11"}})"}},
      {"limits", limits, {}, {"sqnr_db<30", "conv*:max_abs_diff>=1e-3"}},
      {"baseline",
       baseline,
       {},
       {R"({"vernier_baseline": 1, "figures": [{"subject": "y", "metric": "sqnr_db", "accepted": 27.3, "tolerance": 0.5}, {"subject": "y", "metric": "cosine", "worse": "lower", "accepted": 1}]})"}},
      {"ranges", ranges, {}, {R"({"ranges": {"x": {"low": -1, "high": 2.5, "rule": "minmax"}}})"}},
      {"part",
       part,
       {},
       {"vernier part 2\n"
        R"({"command": "eval", "arguments": ["--seed=1"], "folder": "/", "facts": {"inputs": "x"}, "samples": {"": 2}, "shard": [1, 2]})"
        "\n"}},
      {"records",
       records,
       {},
       {to_record(ComparedSample{.number = 3,
                                 .reference_outputs = {{.name = "y", .shape = {1, 2}}},
                                 .outputs = {{.pairs = {{.reference_shape = {1, 2}}}}},
                                 .sketches = {{{.elements = {1, 2}, .size = 2, .hash = 7}}},
                                 .uses = {{1, 2, 3}}}),
        to_record(SampleSums{.tensors = {{}}, .order = {0}, .outputs = {{.name = "y"}}}),
        to_record(LayersSample{.layers = {{1, {}}}, .outputs = {{.name = "y"}}}),
        to_record(BlockAnswers())}},
      {"zoo",
       zoo,
       {},
       {R"({"vernier_zoo": 1, "options": {"samples": 3}, "models": {"cnn": {"reference": "a.onnx", "command": "layers", "options": {"fail-if": ["x>1", "y<2"]}, "precisions": {"int8": "b.onnx", "fp16": {}, "w8": {"convert": {"data": "c.npz"}, "metric": "m"}}}}})"}},
      {"genai_config",
       genai_config,
       {},
       {R"({"model": {"decoder": {"filename": "m.onnx", "inputs": {"input_ids": "ids", "past_key_names": "past.%d.key"}}}})"}},
      {"text_rows",
       text_rows,
       {},
       {"{\"text\": \"a\", \"label\": 1}\n{\"text\": \"b\"}\n", "[{\"a\": 1}]"}},
      {"arguments",
       arguments,
       {},
       {"x=1,3,224,224", "x=0:1", "a=b", "sr=16000", "all", "{'a': (1, 2)}", "back*/conv[0-9]"}},
  };
  return all;
}

void feed(const Target& target, Bytes input, const fs::path& folder) {
  set_inflate_limit(std::int64_t{16} << 20);
  try {
    target.run(input, folder);
  } catch (const Error& error) {
    const std::string_view message = error.what();
    require(!message.empty(), "an error without a message");
    // Another library's words, unless the input has them and is quoted.
    for (const std::string_view internal : {"std::", "json.exception", ".cc:", "google/protobuf"})
      require(
          message.find(internal) == message.npos || text_of(input).find(internal) != message.npos,
          std::string(message));
  }
}

std::vector<std::string> seeds(const Target& target) {
  std::vector<std::string> all = target.texts;
  const auto take = [&](const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    all.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  };
  const auto files_below = [](const fs::path& folder) {
    std::vector<fs::path> files;
    if (fs::exists(folder))
      for (const auto& entry : fs::recursive_directory_iterator(folder))
        if (entry.is_regular_file()) files.push_back(entry.path());
    std::ranges::sort(files);
    return files;
  };
  for (const fs::path& path : files_below(VERNIER_FIXTURES))
    if (std::ranges::count(target.extensions, path.extension().string()) > 0 &&
        fs::file_size(path) < 100'000)
      take(path);
  for (const fs::path& path :
       files_below(fs::path(VERNIER_FIXTURES) / "../fuzz/found" / target.name))
    take(path);
  return all;
}

}  // namespace vernier::fuzz
