#include <gtest/gtest.h>

#include <map>

#include "tests/oracle/numpy.h"
#include "tests/temporary_directory.h"
#include "tests/tensor/tensors.h"
#include "vernier/tensor/npz.h"

// Files that numpy wrote, read by us, and the other way round.
namespace vernier {
namespace {

const std::map<std::string, Shape> shapes = {{"c", {2, 3, 4}},   {"fortran", {2, 3, 4}},
                                             {"big", {2, 3, 4}}, {"vector", {5}},
                                             {"scalar", {}},     {"empty", {2, 0, 3}}};

class NumpyFiles : public testing::Test {
 protected:
  void SetUp() override {
    python_ = oracle::python_with("numpy");
    if (!python_) GTEST_SKIP() << "no Python with numpy 2.4";
  }
  std::string run(const std::string& action, const std::filesystem::path& path) const {
    return oracle::output_of(*python_ + " " VERNIER_ORACLES "/npz_cases.py " + action + " " +
                             oracle::shell_quoted(path.string()));
  }

  std::optional<std::string> python_;
  TemporaryDirectory directory_;
};

TEST_F(NumpyFiles, what_numpy_saved_is_read) {
  run("write", directory_.path());
  for (const std::string file : {"stored.npz", "deflated.npz"}) {
    const NpzReader reader(directory_ / file);
    EXPECT_EQ(reader.names().size(), 12 * shapes.size());
    for (const std::string& name : reader.names()) {
      const DType dtype = parse_dtype(name.substr(0, name.find('/'))).value();
      const Shape& shape = shapes.at(name.substr(name.find('/') + 1));
      EXPECT_EQ(reader.read(name), counting(name, dtype, shape)) << file << ": " << name;
    }
  }
  for (const std::string version : {"v1", "v2", "v3"})
    EXPECT_EQ(read_npy(directory_ / (version + ".npy")), counting(version, DType::i32, {2, 3, 4}));
}

TEST_F(NumpyFiles, what_numpy_saved_is_read_row_by_row) {
  run("write", directory_.path());
  const NpzReader reader(directory_ / "deflated.npz");
  for (const std::string name : {"float32/c", "int16/fortran", "float64/big"}) {
    NpzArrayStream stream(reader, name);
    for (int row = 0; row < 2; ++row)
      EXPECT_EQ(stream.next(1), counting(name, stream.header().dtype, {1, 3, 4}, row * 12.0f))
          << name;
  }
}

TEST_F(NumpyFiles, what_we_wrote_numpy_loads) {
  NpzWriter writer(directory_ / "ours.npz");
  int arrays = 0;
  for (int i = 0; i < dtype_count; ++i)
    for (const std::string layout : {"vector", "scalar", "empty"}) {
      const auto dtype = static_cast<DType>(i);
      const std::string name = "/" + std::string(dtype_name(dtype)) + "/" +
                               std::string(dtype_name(npy_dtype(dtype))) + "/" + layout;
      writer.add(name, counting(name, dtype, shapes.at(layout)));
      ++arrays;
    }
  writer.finish();
  EXPECT_EQ(run("check", directory_ / "ours.npz"), std::to_string(arrays) + " arrays are right\n");
}

TEST_F(NumpyFiles, numpy_loads_arrays_that_ended_early_or_lie_beyond_four_gigabytes) {
  NpzWriter writer(directory_ / "ours.npz");
  writer.reserve("größe:0/float32/c", DType::f32, {3, 4}, 500000000);
  for (int row = 0; row < 3; ++row)
    writer.append("größe:0/float32/c", counting("", DType::f32, {3, 4}, row * 12.0f));
  writer.add("int4/int8/vector", counting("", DType::i4, {5}));
  writer.truncate(2);
  writer.finish();
  EXPECT_EQ(run("check", directory_ / "ours.npz"), "2 arrays are right\n");
}

}  // namespace
}  // namespace vernier
