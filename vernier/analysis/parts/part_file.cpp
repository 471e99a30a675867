#include "vernier/analysis/parts/part_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "vernier/analysis/parts/content_hash.h"
#include "vernier/error.h"
#include "vernier/json.h"
#include "vernier/tensor/atomic_file.h"
#include "vernier/tensor/mapped_file.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view magic = "vernier part ";
constexpr std::string_view end_section = "end";

// The head of a record: the checksum of all that follows it, the sizes of the section's name and of
// the record, and the sample. The name and the record follow.
struct RecordHead {
  std::uint64_t checksum = 0, name = 0, bytes = 0;
  std::int64_t sample = 0;
};

std::uint64_t checksum_of(std::string_view record) {
  return content_hash(record.substr(sizeof(RecordHead::checksum))).first;
}

std::string record_bytes(std::string_view section, std::int64_t sample, std::string_view record) {
  RecordHead head{.name = section.size(), .bytes = record.size(), .sample = sample};
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  bytes.append(section).append(record);
  head.checksum = checksum_of(bytes);
  std::memcpy(bytes.data(), &head.checksum, sizeof head.checksum);
  return bytes;
}

struct FoundRecord {
  std::string_view section, record;
  std::int64_t sample = 0;
  std::size_t size = 0;  // including the head
};

// nullopt if the bytes do not start with a whole record.
std::optional<FoundRecord> first_record(std::string_view bytes) {
  RecordHead head;
  if (bytes.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof head);
  const std::size_t rest = bytes.size() - sizeof head;
  if (head.name > rest || head.bytes > rest - head.name) return std::nullopt;
  const std::size_t size = sizeof head + head.name + head.bytes;
  if (checksum_of(bytes.substr(0, size)) != head.checksum) return std::nullopt;
  return FoundRecord{.section = bytes.substr(sizeof head, head.name),
                     .record = bytes.substr(sizeof head + head.name, head.bytes),
                     .sample = head.sample,
                     .size = size};
}

std::string header_bytes(const PartHeader& header) {
  Json facts = Json::object();
  for (const auto& [name, value] : header.facts) facts[name] = value;
  const Json json = {
      {"command", header.command}, {"arguments", header.arguments},
      {"folder", header.folder},   {"facts", facts},
      {"samples", header.samples}, {"shard", {header.shard.number, header.shard.count}}};
  return fmt::format("{}{}\n{}\n", magic, part_version, json_line(json));
}

PartHeader parse_header(std::string_view line) {
  const Json json = parse_json<Json>(line);
  PartHeader header{.command = json.at("command"),
                    .arguments = json.at("arguments"),
                    .folder = json.at("folder"),
                    .facts = {},
                    .samples = json.at("samples"),
                    .shard = {json.at("shard").at(0), json.at("shard").at(1)}};
  for (const auto& [name, value] : json.at("facts").items())
    header.facts.emplace_back(name, value.get<std::string>());
  return header;
}

[[noreturn]] void throw_no_part(const fs::path& path, const std::string& why) {
  throw Error(fmt::format("[part] {}: {}; parts are what --shard writes", path.string(), why));
}

// The header, and the size of the first two lines.
std::pair<PartHeader, std::size_t> read_header(const fs::path& path, std::string_view text) {
  if (!text.starts_with(magic)) throw_no_part(path, "is no part of a measurement");
  const std::size_t first = text.find('\n');
  const std::size_t second = first == text.npos ? first : text.find('\n', first + 1);
  if (second == text.npos) throw_no_part(path, "is cut off in its first lines");
  const std::string_view version = text.substr(magic.size(), first - magic.size());
  if (version != std::to_string(part_version))
    throw Error(fmt::format("[part] {}: has version {}, this program reads {}; measure it again",
                            path.string(), version, part_version));
  try {
    return {parse_header(text.substr(first + 1, second - first - 1)), second + 1};
  } catch (const Json::exception&) {
    throw_no_part(path, "is damaged in its first lines");
  }
}

std::string shard_name(const Shard& shard) {
  return shard.count == 1 ? "" : fmt::format(".{}-of-{}", shard.number, shard.count);
}

}  // namespace

std::string difference(const PartHeader& first, const PartHeader& second) {
  if (first.command != second.command) return fmt::format("vernier {} measured it", second.command);
  std::map<std::string, std::string> others(second.facts.begin(), second.facts.end());
  for (const auto& [name, value] : first.facts)
    if (others[name] != value) return fmt::format("not the same {}", name);
  if (first.samples != second.samples) return "not as many samples";
  return first.facts.size() == second.facts.size() ? "" : "not the same files";
}

Part read_part(const fs::path& path) {
  const auto file = std::make_shared<const MappedFile>(path, "part");
  const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()),
                              file->bytes().size());
  auto [header, at] = read_header(path, text);
  Part part{.header = std::move(header), .records = {}, .file = file};
  while (const auto found = first_record(text.substr(at))) {
    if (found->section == end_section) {
      part.complete = found->sample == std::ssize(part.records);
      break;
    }
    part.records[{std::string(found->section), found->sample}] = found->record;
    at += found->size;
  }
  part.bytes = static_cast<std::int64_t>(at);
  forget(file->bytes());
  return part;
}

void write_part(const fs::path& path, const PartHeader& header, const SampleRecords& records) {
  AtomicFile file(path);
  file.append(header_bytes(header));
  const std::vector<SampleRecords::Key> keys = records.keys();
  for (const auto& [section, sample] : keys)
    file.append(record_bytes(section, sample, *records.find(section, sample)));
  file.append(record_bytes(end_section, std::ssize(keys), ""));
  file.commit();
}

PartJournal::PartJournal(const fs::path& folder, const PartHeader& header, SampleRecords& records)
    : records_(records) {
  std::string name;
  for (const auto& [fact, value] : header.facts)
    name.append(fact).append(1, '\0').append(value).append(1, '\0');
  path_ = folder / fmt::format("{}-{}{}{}", header.command, content_hash(name).text().substr(0, 16),
                               shard_name(header.shard), part_ending);
  std::error_code error;
  fs::create_directories(folder, error);
  descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0)
    throw Error(fmt::format("[checkpoint] {}: cannot be written: {}; choose another --checkpoint",
                            path_.string(), std::strerror(errno)));
  try {
    lock();
    if (!has_header() && ftruncate(descriptor_, 0) == 0) append(header_bytes(header));
    const Part part = read_part(path_);
    if (const std::string other = difference(header, part.header); !other.empty())
      throw Error(
          fmt::format("[checkpoint] {}: is of another measurement: {}; choose another --checkpoint",
                      path_.string(), other));
    if (ftruncate(descriptor_, part.bytes) != 0)
      throw Error(fmt::format("[checkpoint] {}: cannot be written: {}", path_.string(),
                              std::strerror(errno)));
    found_ = std::ssize(part.records);
    for (const auto& [key, record] : part.records) records.add(key, record, part.file);
  } catch (...) {
    close(descriptor_);
    throw;
  }
  records.on_keep([this](const SampleRecords::Key& key, const std::string& record) {
    append(record_bytes(key.first, key.second, record));
  });
}

PartJournal::~PartJournal() {
  records_.on_keep({});
  fdatasync(descriptor_);
  close(descriptor_);
}

// A run may have been killed while it wrote the first two lines.
bool PartJournal::has_header() const {
  std::string block(std::size_t{1} << 16, '\0');
  std::int64_t at = 0, lines = 0;
  while (lines < 2) {
    const ssize_t read = pread(descriptor_, block.data(), block.size(), at);
    if (read <= 0) return false;
    lines += std::count(block.begin(), block.begin() + read, '\n');
    at += read;
  }
  return true;
}

// Waits up to 3 s: a run that was just killed may take a moment to release the file.
void PartJournal::lock() const {
  constexpr auto patience = std::chrono::seconds(3);
  const auto begin = std::chrono::steady_clock::now();
  while (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno == EWOULDBLOCK && std::chrono::steady_clock::now() - begin < patience) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      continue;
    }
    if (errno != EWOULDBLOCK) return;  // the file system has no locks
    throw Error(
        fmt::format("[checkpoint] {}: another run is writing it; wait for its end, or choose "
                    "another --checkpoint",
                    path_.string()));
  }
}

void PartJournal::append(const std::string& bytes) {
  for (std::size_t done = 0; done < bytes.size();) {
    const ssize_t wrote = write(descriptor_, bytes.data() + done, bytes.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0)
      throw Error(fmt::format("[checkpoint] {}: cannot be written: {}; choose another --checkpoint",
                              path_.string(), std::strerror(errno)));
    done += static_cast<std::size_t>(wrote);
  }
}

}  // namespace vernier
