#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace vernier {

// A named entity: its type, and the words that it spans, both included.
struct Entity {
  std::string type;
  std::int64_t first = 0, last = 0;
  auto operator<=>(const Entity&) const = default;
};

// The entities of tags such as "B-PER", "I-PER", "O", read as conlleval does: an I- that follows no
// entity of its type begins one; E- and S- end one. A tag without a prefix is a type of its own.
std::vector<Entity> find_entities(std::span<const std::string> tags);

// Entities of one type, or of all.
struct EntityCounts {
  std::int64_t right = 0, predicted = 0, expected = 0;
  EntityCounts& operator+=(const EntityCounts& more);
  double precision() const;  // in percent; 0 where nothing was predicted
  double recall() const;
  double f1() const;
};

// What one sentence adds: of each type, and of its words those whose tag is right.
struct TaggedWords {
  std::map<std::string, EntityCounts> types;
  std::int64_t right = 0, words = 0;
  TaggedWords& operator+=(const TaggedWords& more);
  EntityCounts all() const;
};
TaggedWords compare_tags(std::span<const std::string> expected,
                         std::span<const std::string> predicted);

}  // namespace vernier
