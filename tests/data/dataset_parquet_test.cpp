#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/data/small_images.h"
#include "tests/failure.h"
#include "tests/temporary_directory.h"
#include "vernier/data/dataset.h"
#include "vernier/data/duckdb_query.h"
#include "vernier/data/image.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

std::string sql_text(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "''" : std::string(1, c);
  return quoted + "'";
}

void run_sql(const std::string& sql) {
  DuckDb().query(sql, {}, "test", [](const DuckDbRow&) {});
}

// Rows that differ in the pixel of their image and in their label, in Hugging Face's layout.
struct ParquetFile {
  int rows = 3;
  int first_pixel = 0;
  std::string image = "{'bytes': pixels, 'path': 'x.pgm'}";  // in SQL; `pixels` is the file
  std::string image_name = "image";
  std::string label_name = "label";
  std::string label = "i % 2";
  std::string metadata =
      R"({"info": {"features": {"image": {"_type": "Image"},
         "label": {"_type": "ClassLabel", "names": ["even", "odd"]}}}})";
};

fs::path write_parquet(const fs::path& path, const ParquetFile& file = {}) {
  fs::create_directories(path.parent_path());
  std::vector<std::string> values;
  for (int i = 0; i < file.rows; ++i)
    values.push_back(fmt::format("({}, from_hex('{:02x}'))", i,
                                 fmt::join(grey_pgm(1, 1, file.first_pixel + i), "")));
  run_sql(
      fmt::format("COPY (SELECT {} AS {}, {} AS {} FROM (VALUES {}) t(i, pixels) ORDER BY i) "
                  "TO {} (FORMAT parquet, KV_METADATA {{huggingface: {}}})",
                  file.image, quoted_identifier(file.image_name), file.label,
                  quoted_identifier(file.label_name), fmt::join(values, ", "),
                  sql_text(path.string()), sql_text(file.metadata)));
  return path;
}

int pixel_of(const Example& example) {
  return decode_image(std::get<EncodedImage>(example.content), example.id).pixels[0];
}

std::vector<int> pixels_of(Dataset& dataset, const std::vector<std::int64_t>& positions) {
  std::vector<int> pixels;
  for (const Example& example : dataset.read(positions)) pixels.push_back(pixel_of(example));
  return pixels;
}

std::string parquet_failure(const std::string& name, const DatasetOptions& options = {}) {
  return failure_of([&] { open_dataset(name, options); });
}

TEST(ParquetDataset, what_macos_adds_to_archives_is_ignored) {
  const TemporaryDirectory folder;
  write_parquet(folder / "data/test.parquet");
  write_text(folder / "__MACOSX/data/._test.parquet", "resource fork");
  write_text(folder / "data/._test.parquet", "resource fork");
  EXPECT_EQ(open_dataset(folder.path())->size(), 3);
}

TEST(ParquetDataset, labels_may_be_names) {
  const TemporaryDirectory folder;
  write_parquet(folder / "a.parquet", {.label = "'name ' || i", .metadata = "{}"});
  write_parquet(folder / "b.parquet", {.rows = 1, .label = "'another'", .metadata = "{}"});
  const auto dataset = open_dataset(folder.path());
  EXPECT_THAT(dataset->classes(), ElementsAre("another", "name 0", "name 1", "name 2"));
  const std::int64_t positions[] = {0, 2, 3};
  const auto examples = dataset->read(positions);
  EXPECT_EQ(examples[0].label, 1);
  EXPECT_EQ(examples[1].label, 3);
  EXPECT_EQ(examples[2].label, 0);
}

TEST(ParquetDataset, images_may_be_files_beside_it) {
  const TemporaryDirectory folder;
  write_text(folder / "images/1.pgm", grey_pgm(1, 1, 77));
  for (const std::string image :
       {"'images/' || i || '.pgm'", "{'bytes': NULL::BLOB, 'path': 'images/' || i || '.pgm'}"}) {
    write_parquet(folder / "data/x.parquet", {.image = image});
    const auto dataset = open_dataset((folder / "data/x.parquet").string());
    const std::int64_t positions[] = {0, 1};
    const auto examples = dataset->read(positions);
    EXPECT_THAT(std::get<Unreadable>(examples[0].content).reason,
                HasSubstr("no file images/0.pgm"));
    EXPECT_EQ(pixel_of(examples[1]), 77) << image;
  }
}

TEST(ParquetDataset, reads_images_labels_and_class_names) {
  const TemporaryDirectory folder;
  const auto dataset = open_dataset(write_parquet(folder / "x.parquet"));
  EXPECT_EQ(dataset->size(), 3);
  EXPECT_THAT(dataset->classes(), ElementsAre("even", "odd"));
  const std::int64_t positions[] = {2, 1};
  const auto examples = dataset->read(positions);
  EXPECT_EQ(pixel_of(examples[0]), 2);
  EXPECT_EQ(examples[0].label, 0);
  EXPECT_EQ(examples[1].label, 1);
  EXPECT_EQ(examples[1].id, "x.parquet row 1");
}

TEST(ParquetDataset, files_of_a_folder_follow_each_other) {
  const TemporaryDirectory folder;
  write_parquet(folder / "data/test-00001-of-2.parquet", {.rows = 2, .first_pixel = 3});
  write_parquet(folder / "data/test-00000-of-2.parquet");
  write_parquet(folder / "data/train-00000-of-1.parquet", {.first_pixel = 100});
  EXPECT_THAT(parquet_failure(folder.path()), HasSubstr("has the splits test, train"));
  const auto dataset = open_dataset(folder.path(), {.split = "test"});
  EXPECT_EQ(dataset->size(), 5);
  EXPECT_THAT(pixels_of(*dataset, {4, 0, 3, 2, 1}), ElementsAre(4, 0, 3, 2, 1));
  const auto pattern = open_dataset(folder / "data/train-*.parquet");
  EXPECT_THAT(pixels_of(*pattern, {0, 2}), ElementsAre(100, 102));
}

TEST(ParquetDataset, a_dataset_is_found_in_the_cache_by_its_id) {
  const TemporaryDirectory cache;
  setenv("HF_HUB_CACHE", cache.path().c_str(), 1);
  const fs::path repository = cache / "datasets--timm--mini";
  write_text(repository / "refs/main", "c0ffee");
  // Files of a snapshot are links to blobs that are named by their content.
  fs::create_directories(repository / "snapshots/c0ffee/data");
  write_parquet(repository / "blobs/0123.parquet");
  fs::rename(repository / "blobs/0123.parquet", repository / "blobs/0123");
  fs::create_symlink("../../../blobs/0123",
                     repository / "snapshots/c0ffee/data/test-00000-of-00001.parquet");
  const auto dataset = open_dataset("timm/mini", {.split = "test"});
  EXPECT_THAT(pixels_of(*dataset, {1}), ElementsAre(1));
  unsetenv("HF_HUB_CACHE");
}

TEST(ParquetDataset, hostile_names_of_files_are_names_and_nothing_else) {
  const TemporaryDirectory folder;
  const std::vector<std::string> names = {"a'); DROP TABLE x; --.parquet",
                                          "q\"uo'te.parquet",
                                          "st*r.parquet",
                                          "qu?stion.parquet",
                                          "br[a]cket.parquet",
                                          "key=1.parquet",
                                          "{a,b}.parquet",
                                          "back\\slash.parquet"};
  int pixel = 10;
  for (const std::string& name : names) {
    write_parquet(folder / "plain.parquet", {.first_pixel = pixel});
    fs::rename(folder / "plain.parquet", folder / name);
    EXPECT_THAT(pixels_of(*open_dataset(folder / name), {0, 2}), ElementsAre(pixel, pixel + 2))
        << name;
    pixel += 10;
  }
  EXPECT_EQ(open_dataset(folder.path())->size(), static_cast<std::int64_t>(3 * names.size()));
}

TEST(ParquetDataset, hostile_names_of_columns_are_names_and_nothing_else) {
  const TemporaryDirectory folder;
  const std::string image = "im\"age'; DROP", label = "la\"bel), (";
  const auto path = write_parquet(folder / "x.parquet",
                                  {.image_name = image, .label_name = label, .metadata = "{}"});
  EXPECT_THAT(parquet_failure(path), HasSubstr("no column of images"));
  const auto dataset = open_dataset(path, {.image_column = image, .label_column = label});
  EXPECT_THAT(pixels_of(*dataset, {2}), ElementsAre(2));
}

TEST(ParquetDataset, columns_are_found_by_the_metadata_then_by_their_usual_names) {
  const TemporaryDirectory folder;
  const auto described = write_parquet(
      folder / "a.parquet", {.image_name = "picture",
                             .label_name = "kind",
                             .metadata = R"({"info": {"features": {"picture": {"_type": "Image"},
                        "kind": {"_type": "ClassLabel", "names": ["a", "b"]}}}})"});
  EXPECT_THAT(open_dataset(described)->classes(), ElementsAre("a", "b"));
  const auto bare = write_parquet(folder / "b.parquet",
                                  {.image = "pixels", .image_name = "img", .metadata = "not JSON"});
  const auto dataset = open_dataset(bare);
  EXPECT_THAT(dataset->classes(), ElementsAre());
  EXPECT_THAT(pixels_of(*dataset, {1}), ElementsAre(1));
}

TEST(ParquetDataset, metadata_of_another_shape_says_nothing) {
  const TemporaryDirectory folder;
  for (const char* metadata :
       {"[]", "3", R"({"info": []})", R"({"info": {"features": 3}})",
        R"({"info": {"features": {"label": {"_type": 7, "names": {"a": 1}}}}})",
        R"({"info": {"features": {"label": {"names": 7}}}})"}) {
    const auto path = write_parquet(folder / "x.parquet", {.metadata = metadata});
    EXPECT_EQ(open_dataset(path)->size(), 3) << metadata;
  }
}

TEST(ParquetDataset, missing_images_and_labels_are_told_in_their_examples) {
  const TemporaryDirectory folder;
  const auto dataset = open_dataset(
      write_parquet(folder / "x.parquet",
                    {.image = "CASE WHEN i = 1 THEN {'bytes': NULL::BLOB, 'path': 'gone.png'} "
                              "WHEN i = 2 THEN NULL ELSE {'bytes': pixels, 'path': 'x'} END",
                     .label = "CASE WHEN i = 0 THEN NULL ELSE i END"}));
  const std::int64_t positions[] = {0, 1, 2};
  const auto examples = dataset->read(positions);
  EXPECT_EQ(examples[0].label, std::nullopt);
  EXPECT_EQ(std::get<Unreadable>(examples[1].content).reason,
            "x.parquet row 1: the image has no bytes, and there is no file gone.png");
  EXPECT_TRUE(std::holds_alternative<Unreadable>(examples[2].content));
  EXPECT_EQ(examples[2].label, 2);
}

TEST(ParquetDataset, columns_of_the_wrong_kind_are_told_with_those_there_are) {
  const TemporaryDirectory folder;
  const auto numbers = write_parquet(folder / "x.parquet", {.image = "CAST(i AS BIGINT)"});
  EXPECT_THAT(parquet_failure(numbers),
              HasSubstr("x.parquet: no column of images; it has image BIGINT, label"));
  const auto good = write_parquet(folder / "y.parquet");
  EXPECT_THAT(parquet_failure(good, {.image_column = "label"}),
              HasSubstr("no such column of images: label"));
  EXPECT_THAT(parquet_failure(good, {.label_column = "none"}),
              HasSubstr("no such column of labels or maps of them: none"));
}

TEST(ParquetDataset, a_file_that_is_none_or_cut_off_is_an_error_of_one_line) {
  const TemporaryDirectory folder;
  write_text(folder / "text.parquet", "hello, this is not Parquet at all");
  write_text(folder / "empty.parquet", "");
  const auto cut = write_parquet(folder / "cut.parquet");
  fs::resize_file(cut, fs::file_size(cut) / 2);
  for (const char* name : {"text.parquet", "empty.parquet", "cut.parquet"}) {
    const std::string message = parquet_failure(folder / name);
    EXPECT_THAT(message, HasSubstr(std::string("[parquet] ") + name)) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos);
  }
}

TEST(ParquetDataset, a_second_file_without_the_columns_is_an_error) {
  const TemporaryDirectory folder;
  write_parquet(folder / "a.parquet");
  write_parquet(folder / "b.parquet", {.image_name = "other"});
  const auto dataset = open_dataset(folder.path());
  const std::int64_t positions[] = {0, 4};
  EXPECT_THAT(failure_of([&] { dataset->read(positions); }), HasSubstr("[parquet] b.parquet: "));
}

TEST(ParquetDataset, a_file_without_rows_is_an_error) {
  const TemporaryDirectory folder;
  const auto path = folder / "x.parquet";
  run_sql("COPY (SELECT 1 AS label WHERE false) TO " + sql_text(path.string()) +
          " (FORMAT parquet)");
  EXPECT_THAT(parquet_failure(path), HasSubstr("no rows"));
}

TEST(ParquetDataset, a_library_that_is_not_there_is_told_with_the_remedy) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";  // a process of its own
  setenv("VERNIER_DUCKDB", "/nowhere/libduckdb.so", 1);
  EXPECT_EXIT(
      {
        const std::string message = failure_of([] { DuckDb(); });
        std::fprintf(stderr, "%s\n", message.c_str());
        std::exit(message.find("run scripts/setup.sh") != std::string::npos ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "DuckDB cannot be loaded");
  unsetenv("VERNIER_DUCKDB");
}

TEST(ParquetDataset, a_column_of_images_can_hold_maps_of_labels) {
  const TemporaryDirectory folder;
  const ParquetFile maps{.label_name = "annotation",
                         .label =
                             "{'bytes': CASE WHEN i = 1 THEN NULL ELSE pixels END, 'path': "
                             "'x.pgm'}",
                         .metadata = "{}"};
  const auto path = write_parquet(folder / "x.parquet", maps);
  for (const std::string name : {"", "annotation"}) {
    const auto dataset = open_dataset(path, {.label_column = name});
    const std::int64_t positions[] = {1, 2};
    const auto examples = dataset->read(positions);
    EXPECT_FALSE(examples[1].label);
    EXPECT_TRUE(std::holds_alternative<std::monostate>(examples[0].target));
    EXPECT_EQ(decode_label_map(std::get<EncodedImage>(examples[1].target), "x").pixels[0], 2);
  }
}

}  // namespace
}  // namespace vernier
