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

// Which part of the samples is measured here: the third of sixteen.
struct Shard {
  std::int64_t number = 1, count = 1;
  // Samples are cut into runs of equal length, but for one.
  std::int64_t first(std::int64_t total) const;
  std::int64_t end(std::int64_t total) const;
  bool operator==(const Shard&) const = default;
};

// "3/16". Throws Error for anything else.
Shard parse_shard(std::string_view text);

// What was measured of single samples: the exact state of a measurement over a part of them. Each
// pass over the samples is a section. Pooling is done from these in the order of the samples, so
// where each was measured makes no difference to the result.
class SampleRecords {
 public:
  enum class Runs {
    all,     // the samples that are not here yet
    shard,   // of these, those of the shard: there is nothing to judge
    nothing  // what is not here is missing
  };
  using Key = std::pair<std::string, std::int64_t>;
  using Keep = std::function<void(const Key&, const std::string&)>;

  explicit SampleRecords(Runs runs = Runs::all, Shard shard = {}) : shard_(shard), runs_(runs) {}

  // A new record is handed to `keep` as well.
  void on_keep(Keep keep) { keep_ = std::move(keep); }

  bool is_part() const { return runs_ == Runs::shard; }
  // Whether the sample is measured here, unless it is found.
  bool runs(std::int64_t sample, std::int64_t total) const;
  // Nothing: not measured yet.
  std::optional<std::string> find(const std::string& section, std::int64_t sample) const;
  void keep(const std::string& section, std::int64_t sample, std::string record);
  // One that was measured before: it stays in its file until it is asked for.
  void add(Key key, std::string_view record, std::shared_ptr<const MappedFile> file);

  std::vector<Key> keys() const;
  // Whether all that is measured here, of so many samples, is there.
  bool has_own(const std::string& section, std::int64_t total) const;
  Shard shard() const { return shard_; }

 private:
  Shard shard_;
  Runs runs_;
  Keep keep_;
  struct Record {
    std::string bytes;  // or
    std::string_view stored;
    std::shared_ptr<const MappedFile> file;
  };
  mutable std::mutex mutex_;  // samples are measured on several threads
  std::map<Key, Record> records_;
};

}  // namespace vernier
