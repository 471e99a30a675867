#include "vernier/analysis/parts/content_hash.h"

#include <fmt/format.h>
#include <vernier_onnx.pb.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <set>
#include <vector>

#include "vernier/error.h"
#include "vernier/model/graph.h"
#include "vernier/model/model.h"
#include "vernier/tensor/mapped_file.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

// Odd constants with well-mixed bits.
constexpr std::uint64_t multiplier = 0x9e3779b97f4a7c15, other_multiplier = 0xd6e8feb86659fd93;
constexpr std::size_t lanes = 4, block = lanes * sizeof(std::uint64_t);

std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ (value >> 32)) * other_multiplier;
  value = (value ^ (value >> 29)) * multiplier;
  return value ^ (value >> 32);
}

// Each of four lanes takes every fourth word, so that the CPU can overlap the multiplications.
void add_block(std::array<std::uint64_t, lanes>& state, const std::byte* bytes) {
  std::array<std::uint64_t, lanes> words;
  std::memcpy(words.data(), bytes, block);
  for (std::size_t i = 0; i < lanes; ++i)
    state[i] = std::rotl(state[i] + words[i] * other_multiplier, 29) * multiplier;
}

std::string file_hash(const fs::path& path) {
  const MappedFile file(path, "part");
  const ContentHash hash = content_hash(file.bytes());
  forget(file.bytes());
  return hash.text();
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

// The files beside a model that hold its weights.
std::set<std::string> external_files(const Model& model) {
  std::set<std::string> names;
  for (const Subgraph& subgraph : all_subgraphs(model.graph()))
    for (const auto& weight : subgraph.graph->initializer())
      for (const auto& entry : weight.external_data())
        if (entry.key() == "location" && entry.value() != model.path().filename())
          names.insert(entry.value());
  return names;
}

}  // namespace

std::string ContentHash::text() const { return fmt::format("{:016x}{:016x}", first, second); }

ContentHash content_hash(std::span<const std::byte> bytes) {
  std::array<std::uint64_t, lanes> state = {1, 2, 3, 4};
  std::size_t at = 0;
  for (; at + block <= bytes.size(); at += block) add_block(state, bytes.data() + at);
  std::array<std::byte, block> rest = {};
  std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end(), rest.begin());
  add_block(state, rest.data());
  ContentHash hash{bytes.size(), ~bytes.size()};
  for (const std::uint64_t lane : state) {
    hash.first = mixed(hash.first + lane);
    hash.second = mixed(std::rotl(hash.second, 17) ^ (lane * other_multiplier));
  }
  return hash;
}

ContentHash content_hash(std::string_view text) {
  return content_hash(std::as_bytes(std::span(text.data(), text.size())));
}

std::string model_hash(const fs::path& model, const Model* loaded) {
  if (fs::is_directory(model)) {
    std::string parts;
    for (const fs::path& file : files_in(model))
      parts += fs::relative(file, model).string() + '\0' + file_hash(file);
    return content_hash(parts).text();
  }
  if (!fs::is_regular_file(model)) return model.string();
  std::string parts = file_hash(model);
  if (model.extension() != ".onnx") return parts;
  const std::set<std::string> files =
      loaded ? external_files(*loaded) : external_files(Model::load(model));
  for (const std::string& file : files)
    parts += file + '\0' + file_hash(model.parent_path() / file);
  return files.empty() ? parts : content_hash(parts).text();
}

std::string data_hash(const fs::path& data) {
  if (!fs::is_directory(data)) return model_hash(data);
  std::string parts;
  for (const fs::path& file : files_in(data))
    parts += fmt::format("{}\n{}\n", fs::relative(file, data).string(), fs::file_size(file));
  return content_hash(parts).text();
}

}  // namespace vernier
