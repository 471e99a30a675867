#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace vernier {

// A named entity: its type and the words [first, last] that it spans.
struct Entity {
  std::string type;
  std::int64_t first = 0, last = 0;
  auto operator<=>(const Entity&) const = default;
};

// The entities of tags such as "B-PER", "I-PER", "O", read as by conlleval: an I- that does not
// follow an entity of its type begins one; E- and S- end one. A tag without a prefix is read as I-
// of that type.
std::vector<Entity> find_entities(std::span<const std::string> tags);

// Counts of entities of one type, or of all types.
struct EntityCounts {
  std::int64_t right = 0, predicted = 0, expected = 0;
  EntityCounts& operator+=(const EntityCounts& more);
  double precision() const;  // in percent; 0 if nothing was predicted
  double recall() const;
  double f1() const;
};

// Counts for one sentence, or summed over several: entities by type, and words with the right tag.
struct TaggedWords {
  std::map<std::string, EntityCounts> types;
  std::int64_t right = 0, words = 0;
  TaggedWords& operator+=(const TaggedWords& more);
  EntityCounts all() const;
};
TaggedWords compare_tags(std::span<const std::string> expected,
                         std::span<const std::string> predicted);

}  // namespace vernier
