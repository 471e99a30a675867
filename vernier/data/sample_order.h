#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace vernier {

// In what order the examples of a dataset became samples: recorded samples are told apart by their
// number alone, so a recording carries this as the comment of its archive.
struct SampleOrder {
  std::int64_t examples = 0;  // that the dataset has
  std::int64_t first = 0;     // the sample that was taken first
  std::int64_t batch = 1;     // examples in each sample
  bool shuffled = false;
  std::uint64_t seed = 42;  // of the shuffle
  bool operator==(const SampleOrder&) const = default;
};

// "shuffled with seed 42", "in the dataset's order": for messages.
std::string describe_order(const SampleOrder& order);

// As a comment, and back; nothing for another text.
std::string format_order(const SampleOrder& order);
std::optional<SampleOrder> parse_order(const std::string& comment);

// That of an .npz, or of the first one in a folder; nothing if it carries none.
std::optional<SampleOrder> recorded_order(const std::filesystem::path& recording);

// Throws Error if the recording carries another order than this.
void require_recorded_order(const SampleOrder& order, const std::filesystem::path& recording);

}  // namespace vernier
