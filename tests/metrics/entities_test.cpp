#include "vernier/metrics/entities.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vernier {
namespace {

using ::testing::ElementsAre;
using Tags = std::vector<std::string>;

TEST(Entities, are_spans_of_one_type) {
  EXPECT_THAT(find_entities(Tags{"B-PER", "I-PER", "O", "B-LOC"}),
              ElementsAre(Entity{"PER", 0, 1}, Entity{"LOC", 3, 3}));
  // An I- that follows none, or one of another type, begins one.
  EXPECT_THAT(find_entities(Tags{"I-PER", "I-LOC", "B-LOC"}),
              ElementsAre(Entity{"PER", 0, 0}, Entity{"LOC", 1, 1}, Entity{"LOC", 2, 2}));
  EXPECT_THAT(find_entities(Tags{"B-PER", "E-PER", "S-LOC"}),
              ElementsAre(Entity{"PER", 0, 1}, Entity{"LOC", 2, 2}));
  EXPECT_TRUE(find_entities(Tags{}).empty());
}

// As seqeval counts: 1 of 2 expected is found, 1 of 2 predicted is right, 4 of 5 tags.
TEST(Entities, count_where_span_and_type_are_right) {
  const TaggedWords found = compare_tags(Tags{"B-PER", "I-PER", "O", "B-LOC", "O"},
                                         Tags{"B-PER", "I-PER", "O", "B-ORG", "O"});
  EXPECT_EQ(found.all().precision(), 50);
  EXPECT_EQ(found.all().recall(), 50);
  EXPECT_EQ(found.all().f1(), 50);
  EXPECT_EQ(found.right, 4);
  EXPECT_EQ(found.words, 5);
  EXPECT_EQ(found.types.at("PER").f1(), 100);
  EXPECT_EQ(found.types.at("ORG").f1(), 0);
}

TEST(Entities, of_nothing_are_zero_and_not_nan) {
  EXPECT_EQ(EntityCounts{}.precision(), 0);
  EXPECT_EQ(EntityCounts{}.f1(), 0);
}

}  // namespace
}  // namespace vernier
