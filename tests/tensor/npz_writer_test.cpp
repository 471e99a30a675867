#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/temporary_directory.h"
#include "tests/tensor/tensors.h"
#include "vernier/error.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/npz.h"

namespace vernier {
namespace {

using testing::ElementsAre;

TEST(NpzWriter, what_was_added_is_read_back_under_its_name) {
  const TemporaryDirectory directory;
  NpzWriter writer(directory / "a.npz");
  writer.add("/layer/conv:0", counting("", DType::f32, {2, 3}));
  writer.add("scalar", counting("", DType::i64, {}));
  writer.add("empty", counting("", DType::f64, {0, 5}));
  writer.finish();

  const NpzReader reader(directory / "a.npz");
  EXPECT_THAT(reader.names(), ElementsAre("/layer/conv:0", "scalar", "empty"));
  for (const std::string& name : reader.names()) {
    const Tensor tensor = reader.read(name);
    EXPECT_EQ(tensor, counting(name, tensor.dtype, tensor.shape));
  }
}

TEST(NpzWriter, reserved_arrays_are_filled_interleaved) {
  const TemporaryDirectory directory;
  NpzWriter writer(directory / "a.npz");
  writer.reserve("x", DType::f16, {2}, 3);
  writer.reserve("y", DType::i32, {}, 3);
  for (int row = 0; row < 3; ++row) {
    writer.append("x", counting("", DType::f16, {2}, row * 2));
    writer.append("y", counting("", DType::i32, {}, row));
  }
  writer.finish();

  const NpzReader reader(directory / "a.npz");
  EXPECT_EQ(reader.read("x"), counting("x", DType::f16, {3, 2}));
  EXPECT_EQ(reader.read("y"), counting("y", DType::i32, {3}));
}

TEST(NpzWriter, an_interrupted_run_keeps_the_rows_it_has) {
  const TemporaryDirectory directory;
  NpzWriter writer(directory / "a.npz");
  writer.reserve("x", DType::f32, {100}, 1000);
  writer.reserve("y", DType::f32, {3}, 1000);
  for (int row = 0; row < 3; ++row) writer.append("x", counting("", DType::f32, {100}, row * 100));
  for (int row = 0; row < 2; ++row) writer.append("y", counting("", DType::f32, {3}, row * 3));
  EXPECT_THROW(writer.finish(), Error);
  EXPECT_THROW(writer.truncate(3), Error);
  writer.truncate(2);
  writer.finish();

  const NpzReader reader(directory / "a.npz");
  EXPECT_EQ(reader.read("x"), counting("x", DType::f32, {2, 100}));
  EXPECT_EQ(reader.read("y"), counting("y", DType::f32, {2, 3}));
}

}  // namespace
}  // namespace vernier
