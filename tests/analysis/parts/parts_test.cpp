#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "tests/arrays.h"
#include "tests/temporary_directory.h"
#include "vernier/analysis/compare/compared_sample.h"
#include "vernier/analysis/debug/observe.h"
#include "vernier/analysis/parts/content_hash.h"
#include "vernier/analysis/parts/part_file.h"
#include "vernier/analysis/parts/record.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(Shard, shards_cover_all_samples_once_whatever_the_count) {
  for (const std::int64_t total : {0, 1, 5, 16, 1000})
    for (const std::int64_t count : {1, 2, 3, 7, 16, 40}) {
      std::int64_t next = 0;
      for (std::int64_t number = 1; number <= count; ++number) {
        const Shard shard{number, count};
        EXPECT_EQ(shard.first(total), next);
        EXPECT_LE(shard.end(total) - shard.first(total), total / count + 1);
        next = shard.end(total);
      }
      EXPECT_EQ(next, total);
    }
}

TEST(Record, every_bit_of_a_sample_comes_back) {
  ComparedSample sample{.number = 7};
  sample.reference_outputs = {{.name = "y", .dtype = DType::f16, .shape = {1, 3}}};
  Similarity figures{.count = 3, .sqnr_db = std::nan("7"), .mse = -0.0, .max_ulp_diff = 0.1};
  sample.outputs = {{.pairs = {{.reference_shape = {1, 3}, .layout = "x", .similarity = figures}},
                     .worst_step = WorstStep{1, 2, 3.5}}};
  sample.sketches = {{{.elements = {0.1, INFINITY}, .size = 9, .hash = ~0ULL}}};
  sample.uses = {{1e-310, 3, 4}};
  sample.nan_input = "";
  const std::string bytes = to_record(sample);
  const auto back = from_record<ComparedSample>(bytes);
  EXPECT_EQ(to_record(back), bytes);
  EXPECT_EQ(back.outputs[0].worst_step, sample.outputs[0].worst_step);
  EXPECT_EQ(back.sketches, sample.sketches);
  EXPECT_TRUE(std::signbit(back.outputs[0].pairs[0].similarity.mse));
  EXPECT_EQ(back.nan_input, "");
  EXPECT_EQ(back.nan_tensor, std::nullopt);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_THROW(from_record<ComparedSample>(std::string_view(bytes).substr(0, size)), Error);
}

// Nothing else may follow from bytes that somebody made up.
TEST(Record, what_is_no_value_of_its_type_is_refused) {
  const auto read = [](const std::string& bytes, auto value) {
    RecordReader reader(bytes);
    reader(value);
  };
  EXPECT_NO_THROW(read(to_record(true), false));
  EXPECT_THROW(read("\2", false), Error);
  EXPECT_NO_THROW(read(to_record(DType::boolean), DType::f32));
  EXPECT_THROW(read("\x13", DType::f32), Error);
  EXPECT_THROW(read(to_record(4), PairStatus::compared), Error);
  EXPECT_THROW(read(to_record(-1), PairStatus::compared), Error);
}

TEST(Record, histograms_of_samples_add_up_to_that_of_all) {
  ValueHistogram whole, sum;
  for (std::int64_t sample = 0; sample < 20; ++sample) {
    std::vector<float> values;
    for (int i = 0; i < 3000; ++i)
      values.push_back(std::sin(static_cast<float>(i * (sample + 1))) *
                       static_cast<float>(1 << (sample % 6)));
    const double largest = std::ranges::max(values);
    whole.add(values, sample, largest, {});
    ValueHistogram one;
    one.add(values, sample, largest, {});
    const ValueHistogram back = ValueHistogram::unpacked(one.packed());
    EXPECT_EQ(back, one);
    sum.add(back);
  }
  EXPECT_EQ(sum, whole);
  EXPECT_EQ(ValueHistogram::unpacked(ValueHistogram().packed()), ValueHistogram());
  EXPECT_THROW(ValueHistogram::unpacked("123"), Error);
}

TEST(ContentHash, contents_that_differ_in_a_bit_or_a_length_differ) {
  std::set<std::string> hashes;
  for (std::size_t size = 0; size < 100; ++size)
    hashes.insert(content_hash(std::string(size, '\0')).text());
  for (std::size_t i = 0; i < 100; ++i) {
    std::string bytes(100, '\0');
    bytes[i] = 1;
    hashes.insert(content_hash(bytes).text());
  }
  EXPECT_EQ(hashes.size(), 200u);
  EXPECT_EQ(content_hash("vernier"), content_hash("vernier"));
}

class PartFile : public ::testing::Test {
 protected:
  const PartHeader header_{.command = "eval",
                           .arguments = {"--samples=3", "--fail-if=x<1"},
                           .folder = "/somewhere",
                           .facts = {{"candidate", "1"}, {"options", "a\nb"}},
                           .samples = {{"outputs", 3}},
                           .shard = {1, 2}};
  TemporaryDirectory folder_;
};

TEST_F(PartFile, what_is_written_is_read) {
  SampleRecords records(SampleRecords::Runs::shard, header_.shard);
  records.keep("outputs", 0, "abc");
  records.keep("outputs", 1, std::string("\0\n", 2));
  write_part(folder_ / "a.vpart", header_, records);
  const Part part = read_part(folder_ / "a.vpart");
  EXPECT_EQ(part.header, header_);
  EXPECT_TRUE(part.complete);
  EXPECT_EQ(part.records.at({"outputs", 1}), std::string_view("\0\n", 2));
}

TEST_F(PartFile, a_journal_that_ends_anywhere_keeps_the_whole_records_before) {
  std::filesystem::path path;
  std::vector<std::uintmax_t> ends;
  {
    SampleRecords records;
    PartJournal journal(folder_.path(), header_, records);
    path = journal.path();
    for (int i = 0; i < 3; ++i) {
      ends.push_back(std::filesystem::file_size(path));
      records.keep("outputs", i, std::string(10 + i, 'x'));
    }
  }
  const auto size = std::filesystem::file_size(path);
  ends.push_back(size);
  for (std::uintmax_t left = size; left-- > 0;) {
    std::filesystem::resize_file(path, left);
    SampleRecords records;
    PartJournal journal(folder_.path(), header_, records);
    const auto whole = std::ranges::count_if(ends, [&](auto end) { return end <= left; });
    EXPECT_EQ(journal.found(), std::max<std::int64_t>(0, whole - 1)) << left;
    EXPECT_EQ(records.keys().size(), static_cast<std::size_t>(journal.found()));
  }
}

TEST_F(PartFile, a_journal_of_a_very_long_command_line_is_kept) {
  PartHeader header = header_;
  header.arguments.assign(100'000, "--map-input=reference=candidate");
  for (const std::int64_t found : {0, 1}) {
    SampleRecords records;
    PartJournal journal(folder_.path(), header, records);
    EXPECT_EQ(journal.found(), found);
    if (found == 0) records.keep("outputs", 0, "abc");
  }
}

TEST_F(PartFile, a_bit_that_flipped_ends_the_records_there) {
  SampleRecords records(SampleRecords::Runs::shard, header_.shard);
  for (int i = 0; i < 3; ++i) records.keep("outputs", i, std::string(50, 'x'));
  const std::string file = folder_ / "a.vpart";
  write_part(file, header_, records);
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(-80, std::ios::end);
  stream.put('y');
  stream.close();
  const Part part = read_part(file);
  EXPECT_FALSE(part.complete);
  EXPECT_EQ(part.records.size(), 2u);
}

TEST_F(PartFile, a_journal_belongs_to_one_run_at_a_time) {
  SampleRecords records, others;
  PartJournal journal(folder_.path(), header_, records);
  EXPECT_THAT([&] { PartJournal(folder_.path(), header_, others); },
              ThrowsMessage<Error>(HasSubstr("another run is writing it")));
}

TEST_F(PartFile, measurements_are_told_apart_by_what_differs) {
  PartHeader other = header_;
  other.folder = "/elsewhere";
  other.shard = {2, 2};
  EXPECT_EQ(difference(header_, other), "");
  other.facts[0].second = "2";
  EXPECT_EQ(difference(header_, other), "not the same candidate");
  other = header_;
  other.samples["outputs"] = 4;
  EXPECT_EQ(difference(header_, other), "not as many samples");
  other = header_;
  other.command = "debug";
  EXPECT_EQ(difference(header_, other), "vernier debug measured it");
}

}  // namespace
}  // namespace vernier
