#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>
#include <png.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/data/small_images.h"
#include "vernier/data/duckdb_query.h"
#include "vernier/tensor/npz.h"

namespace vernier {

// The digits of mnist_labelled.npz, to be written in other formats.
class LabelledDigits {
 public:
  static constexpr std::size_t pixels = 28 * 28;
  static constexpr const char* npz = VERNIER_FIXTURES "/mnist/mnist_labelled.npz";

  std::int64_t size() const { return labels_.size(); }
  std::string image(std::int64_t index) const {
    return {reinterpret_cast<const char*>(images_.bytes.data()) + index * pixels, pixels};
  }
  std::int64_t label(std::int64_t index) const {
    return elements<std::int64_t>(labels_.view())[index];
  }
  std::string png(std::int64_t index) const {
    png_image header{};
    header.version = PNG_IMAGE_VERSION;
    header.width = header.height = 28;
    header.format = PNG_FORMAT_GRAY;
    std::string file(10 * pixels, '\0');
    png_alloc_size_t size = file.size();
    EXPECT_TRUE(
        png_image_write_to_memory(&header, file.data(), &size, 0, image(index).data(), 0, nullptr));
    file.resize(size);
    return file;
  }

  // The first `count` as PNG files, in a folder for each label.
  void write_folder(const std::filesystem::path& folder, std::int64_t count) const {
    for (std::int64_t i = 0; i < count; ++i)
      write_text(folder / fmt::format("{}/{:04}.png", label(i), i), png(i));
  }

  // The same in Hugging Face's Parquet layout.
  void write_parquet(const std::filesystem::path& path, std::int64_t count) const {
    const DuckDb duckdb;
    const auto run = [&](const std::string& sql) {
      duckdb.query(sql, {}, "test", [](const DuckDbRow&) {});
    };
    run("CREATE TABLE digits(label BIGINT, image STRUCT(bytes BLOB, path VARCHAR))");
    std::vector<std::string> rows;
    for (std::int64_t i = 0; i < count; ++i) {
      const std::string file = png(i);
      rows.push_back(
          fmt::format("({}, {{'bytes': from_hex('{:02x}'), 'path': NULL}})", label(i),
                      fmt::join(std::vector<std::uint8_t>(file.begin(), file.end()), "")));
      if (rows.size() < 100 && i + 1 < count) continue;
      run(fmt::format("INSERT INTO digits VALUES {}", fmt::join(rows, ", ")));
      rows.clear();
    }
    run(fmt::format("COPY digits TO '{}' (FORMAT parquet)", path.string()));
  }

 private:
  Tensor images_ = NpzReader(npz).read("input");
  Tensor labels_ = NpzReader(npz).read("label");
};

}  // namespace vernier
