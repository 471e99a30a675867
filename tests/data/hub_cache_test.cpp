#include "vernier/data/hub_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/data/small_images.h"
#include "tests/failure.h"
#include "tests/temporary_directory.h"

namespace vernier {
namespace {

using ::testing::HasSubstr;

// A cache of one test's own.
class HubCache : public ::testing::Test {
 protected:
  HubCache() {
    setenv("HF_HOME", cache_.path().c_str(), 1);
    unsetenv("HF_HUB_CACHE");
  }
  ~HubCache() override { unsetenv("HF_HOME"); }

  std::filesystem::path repository() const { return cache_ / "hub/datasets--timm--mini-imagenet"; }
  void add_snapshot(const std::string& commit) const {
    std::filesystem::create_directories(repository() / "snapshots" / commit);
  }

  TemporaryDirectory cache_;
};

TEST_F(HubCache, main_points_to_the_snapshot) {
  add_snapshot("abc");
  add_snapshot("def");
  write_text(repository() / "refs/main", "def\n");
  EXPECT_EQ(find_hub_dataset("timm/mini-imagenet"), repository() / "snapshots/def");
}

TEST_F(HubCache, without_main_the_only_snapshot_is_taken) {
  add_snapshot("abc");
  EXPECT_EQ(find_hub_dataset("timm/mini-imagenet"), repository() / "snapshots/abc");
}

TEST_F(HubCache, a_reference_cannot_lead_out_of_the_cache) {
  add_snapshot("abc");
  add_snapshot("def");
  write_text(repository() / "refs/main", "../../../etc");
  EXPECT_NE(failure_of([] { find_hub_dataset("timm/mini-imagenet"); }), "no error");
}

TEST_F(HubCache, what_is_not_there_is_told_with_the_command_that_downloads_it) {
  EXPECT_THAT(failure_of([] { find_hub_dataset("timm/mini-imagenet"); }),
              HasSubstr("`huggingface-cli download --repo-type dataset timm/mini-imagenet`"));
}

TEST_F(HubCache, variables_say_where_it_is) {
  EXPECT_EQ(hub_cache(), cache_ / "hub");
  setenv("HF_HUB_CACHE", "/else/where", 1);
  EXPECT_EQ(hub_cache(), "/else/where");
  unsetenv("HF_HUB_CACHE");
}

TEST(HubId, is_an_owner_and_a_name) {
  EXPECT_TRUE(is_hub_id("timm/mini-imagenet"));
  EXPECT_TRUE(is_hub_id("ylecun/mnist"));
  for (const char* name : {"mnist", "a/b/c", "../x", "a/..", "/abs", "a b/c", "a/", "x/.hidden"})
    EXPECT_FALSE(is_hub_id(name)) << name;
}

TEST_F(HubCache, models_are_beside_datasets) {
  EXPECT_EQ(find_hub_model("timm/vit"), std::nullopt);
  EXPECT_EQ(find_hub_model("vit"), std::nullopt);
  const auto snapshot = cache_ / "hub/models--timm--vit/snapshots/abc";
  std::filesystem::create_directories(snapshot);
  EXPECT_EQ(find_hub_model("timm/vit"), snapshot);
}

}  // namespace
}  // namespace vernier
