#include "vernier/metrics/entities.h"

#include <algorithm>
#include <string_view>

namespace vernier {
namespace {

struct Tag {
  char prefix = 'O';
  std::string type;
};

Tag read_tag(std::string_view text) {
  if (text == "O" || text.empty()) return {};
  const std::size_t dash = text.find('-');
  if (dash != text.npos) return {text[0], std::string(text.substr(dash + 1))};
  return text.size() == 1 ? Tag{text[0], "_"} : Tag{'I', std::string(text)};
}

bool ends(const Tag& before, const Tag& now) {
  if (before.prefix == 'O') return false;
  return before.prefix == 'E' || before.prefix == 'S' || now.prefix == 'O' || now.prefix == 'B' ||
         now.prefix == 'S' || before.type != now.type;
}

bool begins(const Tag& before, const Tag& now) {
  if (now.prefix == 'O') return false;
  return now.prefix == 'B' || now.prefix == 'S' || before.prefix == 'O' || before.prefix == 'E' ||
         before.prefix == 'S' || before.type != now.type;
}

double percent(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0;
}

}  // namespace

std::vector<Entity> find_entities(std::span<const std::string> tags) {
  std::vector<Entity> entities;
  Tag before;
  std::int64_t first = 0;
  for (std::int64_t i = 0; i <= std::ssize(tags); ++i) {
    const Tag now = i < std::ssize(tags) ? read_tag(tags[i]) : Tag{};
    if (ends(before, now)) entities.push_back({before.type, first, i - 1});
    if (begins(before, now)) first = i;
    before = now;
  }
  return entities;
}

EntityCounts& EntityCounts::operator+=(const EntityCounts& more) {
  right += more.right;
  predicted += more.predicted;
  expected += more.expected;
  return *this;
}

double EntityCounts::precision() const { return percent(right, predicted); }
double EntityCounts::recall() const { return percent(right, expected); }
double EntityCounts::f1() const { return percent(2 * right, predicted + expected); }

TaggedWords& TaggedWords::operator+=(const TaggedWords& more) {
  for (const auto& [type, counts] : more.types) types[type] += counts;
  right += more.right;
  words += more.words;
  return *this;
}

EntityCounts TaggedWords::all() const {
  EntityCounts sum;
  for (const auto& [type, counts] : types) sum += counts;
  return sum;
}

TaggedWords compare_tags(std::span<const std::string> expected,
                         std::span<const std::string> predicted) {
  TaggedWords result;
  const std::vector<Entity> wanted = find_entities(expected), found = find_entities(predicted);
  for (const Entity& entity : wanted) ++result.types[entity.type].expected;
  for (const Entity& entity : found) {
    EntityCounts& counts = result.types[entity.type];
    ++counts.predicted;
    counts.right += std::ranges::count(wanted, entity) > 0;
  }
  result.words = std::ssize(expected);
  for (std::size_t i = 0; i < std::min(expected.size(), predicted.size()); ++i)
    result.right += expected[i] == predicted[i];
  return result;
}

}  // namespace vernier
