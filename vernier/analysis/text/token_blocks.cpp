#include "vernier/analysis/text/token_blocks.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "vernier/error.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/sample_archive.h"

namespace vernier {

TokenBlocks cut_blocks(const std::vector<std::int64_t>& tokens, std::int64_t length) {
  TokenBlocks cut{.length = length};
  for (auto first = tokens.begin(); first != tokens.end();) {
    const auto end = first + std::min<std::ptrdiff_t>(length, tokens.end() - first);
    if (end - first < 2)
      cut.left_out = end - first;
    else
      cut.blocks.emplace_back(first, end);
    first = end;
  }
  return cut;
}

TokenBlocks read_blocks(const std::filesystem::path& path, const std::string& name,
                        std::optional<std::int64_t> length) {
  SampleArchive archive(path);
  const bool alone = archive.names().size() == 1 && !archive.has(name);
  const std::string& array = alone ? archive.names()[0] : name;
  if (!archive.has(array))
    throw Error(fmt::format("[text] {}: there is no array '{}' of tokens; there are {}",
                            path.string(), name, fmt::join(archive.names(), ", ")));
  TokenBlocks all;
  for (std::int64_t i = 0; i < archive.rows(array); ++i) {
    const Tensor row = archive.read(array, i, 1);
    if (!is_integer(row.dtype) || row.shape.size() != 2)
      throw Error(fmt::format("[text] {}: '{}' is {} of {} axes; expected rows of token ids",
                              path.string(), array, dtype_name(row.dtype), row.shape.size()));
    const Tensor ids = convert(row, DType::i64);
    const auto values = elements<std::int64_t>(ids);
    const std::int64_t whole = std::max<std::int64_t>(1, std::ssize(values));
    TokenBlocks cut = cut_blocks({values.begin(), values.end()}, length.value_or(whole));
    all.length = std::max(all.length, cut.length);
    all.left_out += cut.left_out;
    std::ranges::move(cut.blocks, std::back_inserter(all.blocks));
  }
  return all;
}

}  // namespace vernier
