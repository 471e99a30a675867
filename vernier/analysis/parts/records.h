#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vernier {

class MappedFile;

// Which part of the samples is measured here, for example the third of sixteen.
struct Shard {
  std::int64_t number = 1, count = 1;
  // Samples are split into consecutive ranges whose lengths differ by at most one.
  std::int64_t first(std::int64_t total) const;
  std::int64_t end(std::int64_t total) const;
  bool operator==(const Shard&) const = default;
};

// Parses "3/16". Throws Error for anything else.
Shard parse_shard(std::string_view text);

// What was measured of single samples: the exact state of a measurement over some of them. Each
// pass over the samples is a section. Results are pooled from the records in the order of the
// samples, so it makes no difference where each was measured.
class SampleRecords {
 public:
  enum class Runs {
    all,     // samples that have no record yet
    shard,   // of these, those of the shard; nothing is judged
    nothing  // samples without a record are missing
  };
  using Key = std::pair<std::string, std::int64_t>;
  using Keep = std::function<void(const Key&, const std::string&)>;

  explicit SampleRecords(Runs runs = Runs::all, Shard shard = {}) : shard_(shard), runs_(runs) {}

  // `keep` is called with each new record.
  void on_keep(Keep keep) { keep_ = std::move(keep); }

  bool is_part() const { return runs_ == Runs::shard; }
  // Whether the sample is to be measured here if it has no record.
  bool runs(std::int64_t sample, std::int64_t total) const;
  // nullopt if the sample was not measured yet.
  std::optional<std::string> find(const std::string& section, std::int64_t sample) const;
  void keep(const std::string& section, std::int64_t sample, std::string record);
  // Adds a record that was measured before: it stays in its file until it is requested.
  void add(Key key, std::string_view record, std::shared_ptr<const MappedFile> file);

  std::vector<Key> keys() const;
  // Whether every sample that is to be measured here, out of `total`, has a record.
  bool has_own(const std::string& section, std::int64_t total) const;

 private:
  Shard shard_;
  Runs runs_;
  Keep keep_;
  struct Record {
    std::string bytes;  // used if `file` is null
    std::string_view stored;
    std::shared_ptr<const MappedFile> file;
  };
  mutable std::mutex mutex_;  // samples are measured on several threads
  std::map<Key, Record> records_;
};

}  // namespace vernier
