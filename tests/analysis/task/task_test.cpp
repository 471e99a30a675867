#include "vernier/analysis/task/task.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vernier {
namespace {

using ::testing::ElementsAre;

TEST(Task, every_task_is_found_by_its_name) {
  EXPECT_EQ(parse_task("image-feature-extraction"), Task::image_feature_extraction);
  EXPECT_EQ(parse_task("translation"), Task::translation);
  for (const std::string_view name : task_names()) EXPECT_TRUE(parse_task(name)) << name;
  EXPECT_EQ(parse_task("fill-mask"), std::nullopt);
}

TEST(Task, a_task_needs_a_label_or_a_target) {
  EXPECT_EQ(task_needs(Task::image_classification), Needs::label);
  EXPECT_EQ(task_needs(Task::image_feature_extraction), Needs::label);
  EXPECT_EQ(task_needs(Task::image_segmentation), Needs::target);
  EXPECT_EQ(task_needs(Task::translation), Needs::target);
}

TEST(Task, metrics_are_known_before_anything_is_scored) {
  EXPECT_THAT(task_metrics({.task = Task::image_classification}).metrics,
              ElementsAre("top1_accuracy", "top5_accuracy"));
  EXPECT_THAT(task_metrics({.task = Task::image_classification, .top_k = 1}).metrics,
              ElementsAre("top1_accuracy"));
  EXPECT_EQ(task_metrics({.task = Task::image_segmentation}).class_metric, "iou");
  EXPECT_EQ(task_metrics({.task = Task::text_generation}).class_metric, "");
}

}  // namespace
}  // namespace vernier
