#include "vernier/analysis/parts/records.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "vernier/error.h"
#include "vernier/tensor/mapped_file.h"
#include "vernier/tensor/parse_number.h"

namespace vernier {
namespace {

constexpr std::int64_t most_shards = 1'000'000;

std::optional<std::int64_t> parse_count(std::string_view text) {
  const auto count = parse_number<std::int64_t>(text);
  return count && *count >= 1 && *count <= most_shards ? count : std::nullopt;
}

}  // namespace

std::int64_t Shard::first(std::int64_t total) const {
  return total / count * (number - 1) + std::min(number - 1, total % count);
}

std::int64_t Shard::end(std::int64_t total) const { return Shard{number + 1, count}.first(total); }

Shard parse_shard(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto number = parse_count(text.substr(0, slash));
  const auto count = slash == text.npos ? std::nullopt : parse_count(text.substr(slash + 1));
  if (!number || !count || *number > *count)
    throw Error(
        fmt::format("[shard] --shard {}: expected NUMBER/COUNT, counted from 1, as in 3/16", text));
  return {*number, *count};
}

bool SampleRecords::runs(std::int64_t sample, std::int64_t total) const {
  return runs_ != Runs::nothing && sample >= shard_.first(total) && sample < shard_.end(total);
}

std::optional<std::string> SampleRecords::find(const std::string& section,
                                               std::int64_t sample) const {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find({section, sample});
  if (found == records_.end()) return std::nullopt;
  const Record& record = found->second;
  if (!record.file && record.bytes.empty()) return std::nullopt;
  if (!record.file) return record.bytes;
  std::string bytes(record.stored);
  forget(std::as_bytes(std::span(record.stored.data(), record.stored.size())));
  return bytes;
}

void SampleRecords::keep(const std::string& section, std::int64_t sample, std::string record) {
  const std::lock_guard lock(mutex_);
  const Key key{section, sample};
  if (keep_) keep_(key, record);
  // A record that is kept elsewhere, and of which no part is to be written, is hardly ever
  // requested again: it is dropped, and find() does not return it.
  const bool is_elsewhere = keep_ && runs_ == Runs::all;
  records_[key] = {.bytes = is_elsewhere ? "" : std::move(record), .stored = {}, .file = nullptr};
}

void SampleRecords::add(Key key, std::string_view record, std::shared_ptr<const MappedFile> file) {
  const std::lock_guard lock(mutex_);
  records_[std::move(key)] = {.bytes = {}, .stored = record, .file = std::move(file)};
}

std::vector<SampleRecords::Key> SampleRecords::keys() const {
  const std::lock_guard lock(mutex_);
  std::vector<Key> keys;
  for (const auto& [key, record] : records_) keys.push_back(key);
  return keys;
}

bool SampleRecords::has_own(const std::string& section, std::int64_t total) const {
  const std::lock_guard lock(mutex_);
  for (std::int64_t sample = shard_.first(total); sample < shard_.end(total); ++sample)
    if (!records_.contains({section, sample})) return false;
  return true;
}

}  // namespace vernier
