#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "tests/cli/run.h"
#include "tests/data/small_images.h"
#include "tests/fixture.h"
#include "tests/temporary_directory.h"
#include "vernier/tensor/npz.h"

namespace vernier {
namespace {

using testing::CompletedProcess;
using testing::expect_error;
using ::testing::HasSubstr;
using testing::run_vernier;

const std::string model = VERNIER_FIXTURES "/mnist/mnist_cnn.onnx";

CompletedProcess compare(const std::string& dataset, std::vector<std::string> more) {
  more.insert(more.begin(), {"eval", "-m", VERNIER_FIXTURES "/mnist/mnist_cnn.int8.onnx",
                             "--reference", model, "--dataset", dataset});
  return run_vernier(more);
}

// The first digits of mnist_labelled.npz as .pgm files.
void write_digits(const std::filesystem::path& folder, int count) {
  const Tensor digits = NpzReader(mnist_labelled).read("input");
  const std::string_view pixels(reinterpret_cast<const char*>(digits.bytes.data()),
                                digits.bytes.size());
  for (int i = 0; i < count; ++i)
    write_text(folder / "digit" / fmt::format("{:02}.pgm", i),
               fmt::format("P5 28 28 255\n{}", pixels.substr(i * 784, 784)));
}

TEST(DatasetOptions, images_are_inputs_like_the_array_they_were_made_of) {
  const TemporaryDirectory folder;
  write_digits(folder / "digits", 8);
  const auto outputs = [](const CompletedProcess& outcome) {
    return outcome.out.substr(outcome.out.find("\"outputs\""));
  };
  const CompletedProcess images = compare(folder / "digits", {"-f", "json"});
  ASSERT_EQ(images.exit_code, 0) << images.err;
  EXPECT_THAT(images.out, HasSubstr("\"inputs\": \"digits\""));
  const CompletedProcess array = compare(mnist_labelled, {"--samples", "8", "-f", "json"});
  EXPECT_EQ(outputs(images), outputs(array));
}

// What a command says of a dataset of images, and of the array that they were made of.
void expect_same_as_array(const std::vector<std::string>& command) {
  const TemporaryDirectory folder;
  write_digits(folder / "digits", 4);
  std::filesystem::copy_file(mnist_labelled, folder / "digits.npz");
  const auto run = [&](const std::string& dataset) {
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"--dataset", dataset, "--samples", "4"});
    CompletedProcess outcome = run_vernier(arguments, folder.path());
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    outcome.out = std::regex_replace(outcome.out, std::regex("digits.npz"), "digits");
    return outcome.out;
  };
  EXPECT_EQ(run("digits"), run("digits.npz"));
}

TEST(DatasetOptions, debug_runs_on_images) {
  expect_same_as_array({"debug", "--float-model", VERNIER_FIXTURES "/mnist/mnist_cnn.float.onnx",
                        "--quant-model", VERNIER_FIXTURES "/mnist/mnist_cnn.int8.onnx", "--quick",
                        "-f", "json"});  // advice is judged on what else a dataset has
}

TEST(DatasetOptions, inspect_runs_on_images) {
  expect_same_as_array({"inspect", model, "--tensors"});
}

TEST(DatasetOptions, record_saves_what_images_give) {
  const TemporaryDirectory folder;
  write_digits(folder / "digits", 4);
  const auto record = [&](const std::string& dataset) {
    const CompletedProcess outcome =
        run_vernier({"record", model, "--tensors", "inputs,outputs", "--dataset", dataset,
                     "--samples", "4", "-o", folder / "x.npz"});
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    const NpzReader archive(folder / "x.npz");
    return std::pair(archive.read("input"), archive.read("logits"));
  };
  EXPECT_EQ(record(folder / "digits"), record(mnist_labelled));
}

TEST(DatasetOptions, a_batch_feeds_several_examples_at_once) {
  const TemporaryDirectory folder;
  write_digits(folder / "digits", 6);
  const CompletedProcess outcome = compare(folder / "digits", {"--batch", "3", "-f", "json"});
  EXPECT_THAT(outcome.out, HasSubstr("\"samples\": 2")) << outcome.err;
}

TEST(DatasetOptions, one_sample_can_be_run_alone) {
  const TemporaryDirectory folder;
  write_digits(folder / "digits", 3);
  const CompletedProcess outcome =
      compare(folder / "digits", {"--sample-index", "2", "-f", "json"});
  EXPECT_THAT(outcome.out, HasSubstr("\"samples\": 1")) << outcome.err;
  expect_error(compare(folder / "digits", {"--sample-index", "3"}), "the dataset has 3 samples");
}

TEST(DatasetOptions, bad_images_are_told_and_limited) {
  const TemporaryDirectory folder;
  write_digits(folder / "digits", 3);
  write_text(folder / "digits/digit/01.pgm", "not an image");
  const CompletedProcess outcome = compare(folder / "digits", {});
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_THAT(outcome.err, HasSubstr("warning: [dataset] 1 of 3 examples left out: their images "
                                     "cannot be read; the first: [image] digit/01.pgm"));
  expect_error(compare(folder / "digits", {"--max-bad", "0"}), "1 bad examples, --max-bad is 0");
}

TEST(DatasetOptions, images_of_another_size_need_to_be_resized) {
  const TemporaryDirectory folder;
  write_text(folder / "x.pgm", grey_pgm(40, 30, 128));
  expect_error(compare(folder.path(), {}),
               "an image of 30x40 (height x width), model expects 28x28");
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{"--image-size", "28"},
        {"--resize-edge", "28", "--center-crop", "28x28"},
        {"--image-size", "28x28", "--interpolation", "lanczos", "--mean", "0.5", "--std", "0.5"}})
    EXPECT_NE(compare(folder.path(), flags).exit_code, 2) << flags[0];
}

TEST(DatasetOptions, flags_that_say_nothing_sensible_are_refused) {
  const TemporaryDirectory folder;
  write_text(folder / "x.pgm", grey_pgm(28, 28, 128));
  const std::string path = folder.path();
  expect_error(compare(path, {"--column", "pixels=x"}), "expected image=NAME or label=NAME");
  expect_error(compare(path, {"--image-size", "28x"}), "expected pixels");
  expect_error(compare(path, {"--center-crop", "0"}), "expected pixels");
  expect_error(compare(path, {"--interpolation", "box"}), "images are not resized");
  expect_error(compare(path, {"--mean", "1,2"}), "the model takes 1 channels, mean or std has 2");
  expect_error(compare(path, {"--std", "0"}), "expected no zero");
  expect_error(compare(path, {"--preprocess", "nowhere.json"}), "nowhere.json");
  expect_error(compare(path, {"--input-data", "x.npz"}), "--dataset does not go with --input-data");
  expect_error(run_vernier({"eval", "-m", model, "--reference", model, "--split", "test"}),
               "--split requires --dataset");
}

TEST(DatasetOptions, preprocessing_is_found_beside_the_model_and_changed_by_flags) {
  const TemporaryDirectory folder;
  std::filesystem::copy_file(model, folder / "model.onnx");
  write_text(folder / "images/x.pgm", grey_pgm(40, 30, 128));
  write_text(folder / "preprocessor_config.json", R"({"size": 32, "resample": 3})");
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"eval", "-m", folder / "model.onnx", "--reference", model,
                               "--dataset", folder / "images"});
    return run_vernier(more);
  };
  expect_error(run({}),
               "an image of 32x32 (height x width), model expects 28x28; the preprocessing");
  EXPECT_EQ(run({"--center-crop", "28"}).exit_code, 0);
  EXPECT_EQ(run({"--image-size", "28"}).exit_code, 0);
  write_text(folder / "other.json",
             R"({"preprocessing": {"resize": {"height": 28, "width": 28}}})");
  EXPECT_EQ(run({"--preprocess", folder / "other.json"}).exit_code, 0);
}

}  // namespace
}  // namespace vernier
