#include "vernier/exporting/exporter.h"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/temporary_directory.h"

namespace vernier {
namespace {

TEST(Exporter, ids_and_functions_are_sources) {
  EXPECT_TRUE(is_export_source("torchvision/resnet18"));
  EXPECT_TRUE(is_export_source("models.py:tiny"));
  EXPECT_TRUE(is_export_source("package.models:tiny"));
  EXPECT_TRUE(is_export_source("organisation/name-v1.5"));
}

TEST(Exporter, files_are_no_sources_even_when_they_are_missing) {
  const TemporaryDirectory folder;
  std::ofstream(folder / "model.onnx").put('x');
  EXPECT_FALSE(is_export_source(folder / "model.onnx"));
  EXPECT_FALSE(is_export_source("missing/model.onnx"));
  EXPECT_FALSE(is_export_source("missing.pt"));
}

TEST(Exporter, a_folder_is_a_source_when_it_holds_a_model_that_was_not_exported) {
  const TemporaryDirectory folder;
  EXPECT_FALSE(is_export_source(folder.path()));
  std::ofstream(folder / "config.json") << "{}";
  EXPECT_TRUE(is_export_source(folder.path()));
  std::ofstream(folder / "model.onnx").put('x');
  EXPECT_FALSE(is_export_source(folder.path()));
}

}  // namespace
}  // namespace vernier
