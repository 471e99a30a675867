#include "vernier/data/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/arrays.h"
#include "tests/data/small_images.h"
#include "tests/failure.h"
#include "tests/temporary_directory.h"
#include "vernier/tensor/convert.h"

namespace vernier {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::string_literals;

std::vector<Example> read_all(Dataset& dataset) {
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < dataset.size(); ++i) positions.push_back(i);
  return dataset.read(positions);
}

std::vector<std::string> ids_of(Dataset& dataset) {
  std::vector<std::string> ids;
  for (const Example& example : read_all(dataset))
    ids.push_back(example.id + "=" + (example.label ? std::to_string(*example.label) : "none"));
  return ids;
}

std::string failure(const std::string& name, const DatasetOptions& options = {}) {
  return failure_of([&] { open_dataset(name, options); });
}

TEST(ImageFolder, subfolders_are_classes_in_the_order_of_their_names) {
  const TemporaryDirectory folder;
  write_text(folder / "dog/b.PGM", grey_pgm(1, 1, 2));
  write_text(folder / "dog/sub/a.pgm", grey_pgm(1, 1, 3));
  write_text(folder / "cat/z.pgm", grey_pgm(1, 1, 1));
  write_text(folder / "cat/notes.txt", "not an image");
  write_text(folder / "bird/.keep", "");
  const auto dataset = open_dataset(folder.path());
  EXPECT_THAT(dataset->classes(), ElementsAre("bird", "cat", "dog"));
  EXPECT_THAT(ids_of(*dataset), ElementsAre("cat/z.pgm=1", "dog/b.PGM=2", "dog/sub/a.pgm=2"));
}

TEST(ImageFolder, subfolders_named_by_numbers_are_in_the_order_of_the_numbers) {
  const TemporaryDirectory folder;
  for (const char* name : {"0", "1", "2", "10"})
    write_text(folder / name / "a.pgm", grey_pgm(1, 1, 1));
  const auto dataset = open_dataset(folder.path());
  EXPECT_THAT(dataset->classes(), ElementsAre("0", "1", "2", "10"));
  EXPECT_THAT(ids_of(*dataset), ElementsAre("0/a.pgm=0", "1/a.pgm=1", "2/a.pgm=2", "10/a.pgm=3"));
}

TEST(ImageFolder, hidden_files_and_what_macos_adds_to_archives_are_ignored) {
  const TemporaryDirectory folder;
  write_text(folder / "cat/a.pgm", grey_pgm(1, 1, 1));
  write_text(folder / "cat/._a.pgm", "resource fork");
  write_text(folder / "cat/.thumbs/a.pgm", "thumbnail");
  write_text(folder / "__MACOSX/cat/._a.pgm", "resource fork");
  const auto dataset = open_dataset(folder.path());
  EXPECT_THAT(dataset->classes(), ElementsAre("cat"));
  EXPECT_THAT(ids_of(*dataset), ElementsAre("cat/a.pgm=0"));
}

TEST(ImageFolder, a_table_beside_the_images_has_their_labels) {
  const TemporaryDirectory folder;
  write_text(folder / "a.pgm", grey_pgm(1, 1, 1));
  write_text(folder / "sub/b, c.pgm", grey_pgm(1, 1, 2));
  write_text(folder / "d.pgm", grey_pgm(1, 1, 3));
  write_text(folder / "metadata.csv",
             "file_name,label\r\na.pgm,\"tabby \"\"cat\"\"\"\r\n\"sub/b, c.pgm\",ant\r\n");
  const auto dataset = open_dataset(folder.path());
  EXPECT_THAT(dataset->classes(), ElementsAre("ant", "tabby \"cat\""));
  EXPECT_THAT(ids_of(*dataset), ElementsAre("a.pgm=1", "d.pgm=none", "sub/b, c.pgm=0"));
}

TEST(ImageFolder, numbers_in_a_table_are_the_labels_themselves) {
  const TemporaryDirectory folder;
  write_text(folder / "a.pgm", grey_pgm(1, 1, 1));
  write_text(folder / "labels.csv", "target,extra,path\n207,x,./a.pgm\n");
  const auto dataset = open_dataset(folder.path());
  EXPECT_THAT(dataset->classes(), ElementsAre());
  EXPECT_THAT(ids_of(*dataset), ElementsAre("a.pgm=207"));
}

TEST(ImageFolder, images_without_subfolders_have_no_labels) {
  const TemporaryDirectory folder;
  write_text(folder / "b.png", "x");
  write_text(folder / "a.jpg", "x");
  const auto dataset = open_dataset(folder.path());
  EXPECT_THAT(dataset->classes(), ElementsAre());
  EXPECT_THAT(ids_of(*dataset), ElementsAre("a.jpg=none", "b.png=none"));
}

TEST(ImageFolder, splits_are_not_taken_for_classes) {
  const TemporaryDirectory folder;
  write_text(folder / "train/cat/a.pgm", grey_pgm(1, 1, 1));
  write_text(folder / "val/dog/b.pgm", grey_pgm(1, 1, 1));
  EXPECT_THAT(failure(folder.path()), HasSubstr("has the splits train, val; choose one"));
  EXPECT_THAT(open_dataset(folder.path(), {.split = "validation"})->classes(), ElementsAre("dog"));
  EXPECT_THAT(failure(folder.path(), {.split = "test"}), HasSubstr("there is train, val"));
}

TEST(ImageFolder, a_file_that_cannot_be_read_is_told_in_its_example) {
  const TemporaryDirectory folder;
  write_text(folder / "cat/a.pgm", grey_pgm(1, 1, 1));
  std::filesystem::create_symlink(folder / "gone", folder / "cat/b.pgm");
  const auto dataset = open_dataset(folder.path());
  const auto examples = read_all(*dataset);
  ASSERT_EQ(examples.size(), 2u);
  EXPECT_TRUE(std::holds_alternative<EncodedImage>(examples[0].content));
  EXPECT_THAT(std::get<Unreadable>(examples[1].content).reason, HasSubstr("b.pgm"));
}

TEST(ImageFolder, a_folder_without_images_is_an_error) {
  const TemporaryDirectory folder;
  std::filesystem::create_directory(folder / "cat");
  EXPECT_THAT(failure(folder.path()), HasSubstr("no images"));
}

TEST(IdxDataset, finds_the_labels_beside_the_images) {
  const TemporaryDirectory folder;
  write_text(folder / "t10k-images-idx3-ubyte", "\0\0\x08\3\0\0\0\2\0\0\0\1\0\0\0\3abcdef"s);
  write_text(folder / "t10k-labels-idx1-ubyte", "\0\0\x08\1\0\0\0\2\7\2"s);
  for (const auto& name : {folder.path(), folder / "t10k-images-idx3-ubyte"}) {
    const auto dataset = open_dataset(name);
    const auto examples = read_all(*dataset);
    ASSERT_EQ(examples.size(), 2u);
    EXPECT_EQ(examples[0].label, 7);
    EXPECT_EQ(std::get<Image>(examples[1].content), (Image{3, 1, 1, {'d', 'e', 'f'}}));
  }
}

TEST(IdxDataset, the_split_is_in_the_name_of_the_file) {
  const TemporaryDirectory folder;
  write_text(folder / "t10k-images-idx3-ubyte", "\0\0\x08\3\0\0\0\1\0\0\0\1\0\0\0\1a"s);
  write_text(folder / "train-images-idx3-ubyte", "\0\0\x08\3\0\0\0\2\0\0\0\1\0\0\0\1ab"s);
  EXPECT_EQ(open_dataset(folder.path(), {.split = "test"})->size(), 1);
  EXPECT_EQ(open_dataset(folder.path(), {.split = "train"})->size(), 2);
  EXPECT_THAT(failure(folder.path()), HasSubstr("of the splits test, train; choose one"));
  EXPECT_EQ(read_all(*open_dataset(folder.path(), {.split = "test"}))[0].label, std::nullopt);
}

Tensor bytes_tensor(const std::string& name, Shape shape) {
  Tensor tensor = make_tensor(name, DType::u8, std::move(shape));
  for (std::size_t i = 0; i < tensor.bytes.size(); ++i) tensor.bytes[i] = std::byte(i);
  return tensor;
}

TEST(NpzDataset, bytes_are_images_in_every_layout) {
  const TemporaryDirectory folder;
  const auto first = [&](Shape shape) {
    const auto path = write_npz(folder / "x.npz", {bytes_tensor("images", std::move(shape))});
    return std::get<Image>(read_all(*open_dataset(path))[0].content);
  };
  EXPECT_EQ(first({2, 2, 1}), (Image{1, 2, 1, {0, 1}}));
  EXPECT_EQ(first({2, 1, 1, 2}), (Image{2, 1, 1, {0, 1}}));
  EXPECT_EQ(first({2, 2, 1, 3}), (Image{1, 2, 3, {0, 1, 2, 3, 4, 5}}));
  EXPECT_EQ(first({2, 3, 1, 2}), (Image{2, 1, 3, {0, 2, 4, 1, 3, 5}}));
}

TEST(NpzDataset, floats_are_ready_inputs) {
  const TemporaryDirectory folder;
  Tensor labels = make_tensor("label", DType::i32, {2});
  elements<std::int32_t>(labels)[1] = 5;
  const auto path = write_npz(folder / "x.npz", {ramp("input", {2, 3}), labels});
  const auto examples = read_all(*open_dataset(path));
  EXPECT_EQ(examples[1].label, 5);
  EXPECT_EQ(to_f64(std::get<Tensor>(examples[1].content)), (std::vector<double>{3, 4, 5}));
  EXPECT_EQ(examples[1].id, "x.npz row 1");
}

TEST(NpzDataset, arrays_of_a_split_carry_its_name) {
  const TemporaryDirectory folder;
  const auto path =
      write_npz(folder / "x.npz", {ramp("x_train", {3, 2}), ramp("test_images", {1, 2})});
  EXPECT_EQ(open_dataset(path, {.split = "train"})->size(), 3);
  EXPECT_EQ(open_dataset(path, {.split = "test"})->size(), 1);
  EXPECT_THAT(failure(path, {.split = "dev"}), HasSubstr("of the split 'dev'"));
}

TEST(NpzDataset, columns_are_arrays) {
  const TemporaryDirectory folder;
  const auto path =
      write_npz(folder / "x.npz", {ramp("features", {3, 2}), bytes_tensor("digit", {3})});
  EXPECT_THAT(failure(path), HasSubstr("no array of inputs"));
  const auto dataset = open_dataset(path, {.image_column = "features", .label_column = "digit"});
  EXPECT_EQ(read_all(*dataset)[2].label, 2);
  EXPECT_THAT(failure(path, {.image_column = "none"}),
              HasSubstr("no array 'none'; it has features"));
  EXPECT_THAT(failure(path, {.image_column = "digit", .label_column = "y"}),
              HasSubstr("no array 'y'"));
}

TEST(NpzDataset, labels_must_fit_the_inputs) {
  const TemporaryDirectory folder;
  const auto wrong = [&](const Tensor& labels) {
    return failure(write_npz(folder / "x.npz", {ramp("input", {3, 2}), labels}));
  };
  EXPECT_THAT(wrong(bytes_tensor("label", {2})), HasSubstr("expected 3 integer labels"));
  EXPECT_THAT(wrong(ramp("label", {3})), HasSubstr("'label' is float32 [3]"));
  EXPECT_EQ(wrong(bytes_tensor("label", {3, 1})), "no error");
}

TEST(NpzDataset, an_empty_array_is_an_error) {
  const TemporaryDirectory folder;
  EXPECT_THAT(failure(write_npz(folder / "x.npz", {ramp("input", {0, 2})})),
              HasSubstr("expected rows of inputs"));
  EXPECT_THAT(failure(write_npz(folder / "x.npz", {ramp("input", {})})),
              HasSubstr("expected rows of inputs"));
}

TEST(Dataset, what_is_none_is_told) {
  const TemporaryDirectory folder;
  EXPECT_THAT(failure("/nowhere/at/all"), HasSubstr("no such file or folder"));
  write_text(folder / "x.txt", "x");
  EXPECT_THAT(failure(folder / "x.txt"),
              HasSubstr("expected a folder, .parquet, .arrow, .npz or IDX"));
  EXPECT_THAT(failure(folder / "*.txt"), HasSubstr("must match .parquet files alone"));
}

TEST(Dataset, an_id_is_looked_for_in_the_cache) {
  const TemporaryDirectory cache;
  setenv("HF_HUB_CACHE", cache.path().c_str(), 1);
  EXPECT_THAT(failure("owner/digits"), HasSubstr("huggingface-cli download"));
  write_text(cache / "datasets--owner--digits/snapshots/1/test/3/a.pgm", grey_pgm(1, 1, 1));
  EXPECT_THAT(open_dataset("owner/digits", {.split = "test"})->classes(), ElementsAre("3"));
  unsetenv("HF_HUB_CACHE");
}

TEST(ImageFolder, images_and_labels_are_paired_by_name) {
  const TemporaryDirectory folder;
  write_text(folder / "test/images/b.jpg", "picture");
  write_text(folder / "test/images/sub/a.jpg", "picture");
  write_text(folder / "test/labels/sub/a.png", "map");
  const auto dataset = open_dataset(folder.path(), {.split = "test"});
  EXPECT_THAT(dataset->classes(), ElementsAre());
  const auto examples = read_all(*dataset);
  ASSERT_EQ(examples.size(), 2u);
  EXPECT_EQ(examples[0].id, "images/b.jpg");
  EXPECT_TRUE(std::holds_alternative<std::monostate>(examples[0].target));
  EXPECT_EQ(std::get<EncodedImage>(examples[1].target).size(), 3u);
  EXPECT_FALSE(examples[1].label);
}

TEST(NpzDataset, labels_of_several_elements_are_targets) {
  const TemporaryDirectory folder;
  const auto dataset = open_dataset(
      write_npz(folder / "x.npz", {ramp("input", {3, 2}), bytes_tensor("label", {3, 2, 2})}));
  const auto examples = read_all(*dataset);
  EXPECT_FALSE(examples[1].label);
  const Tensor& map = std::get<Tensor>(examples[1].target);
  EXPECT_EQ(map.shape, (Shape{2, 2}));
  EXPECT_THAT(to_f64(map), ElementsAre(4, 5, 6, 7));
}

}  // namespace
}  // namespace vernier
