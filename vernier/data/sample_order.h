#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace vernier {

// The order in which the examples of a dataset became samples. Recorded samples are identified by
// number alone, so a recording stores this as the comment of its archive.
struct SampleOrder {
  std::int64_t examples = 0;  // in the dataset
  std::int64_t first = 0;     // number of the first sample
  std::int64_t batch = 1;     // examples in each sample
  bool shuffled = false;
  std::uint64_t seed = 42;  // of the shuffle
  bool operator==(const SampleOrder&) const = default;
};

// "shuffled with seed 42", "in the dataset's order": for messages.
std::string describe_order(const SampleOrder& order);

// Converts to and from an archive comment; nullopt for other text.
std::string format_order(const SampleOrder& order);
std::optional<SampleOrder> parse_order(const std::string& comment);

// The order stored in an .npz, or in the first .npz of a folder; nullopt if there is none.
std::optional<SampleOrder> recorded_order(const std::filesystem::path& recording);

// Throws Error if the recording stores a different order.
void require_recorded_order(const SampleOrder& order, const std::filesystem::path& recording);

}  // namespace vernier
