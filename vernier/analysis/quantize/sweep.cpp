#include "vernier/analysis/quantize/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "vernier/analysis/parts/content_hash.h"
#include "vernier/analysis/parts/cpu.h"
#include "vernier/data/read_file.h"
#include "vernier/error.h"
#include "vernier/json.h"
#include "vernier/model/convert_fp16.h"
#include "vernier/runtime/ort_runner.h"
#include "vernier/runtime/stopping.h"
#include "vernier/tensor/atomic_file.h"
#include "vernier/version.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

std::int64_t bytes_of(const fs::path& path) {
  std::int64_t bytes = 0;
  for (const fs::path& part : {path, fs::path(path).concat(".data")})
    if (fs::exists(part)) bytes += static_cast<std::int64_t>(fs::file_size(part));
  return bytes;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

double seconds(OrtRunner& runner, const std::vector<Tensor>& inputs) {
  const auto start = Clock::now();
  runner.run(inputs);
  return std::chrono::duration<double>(Clock::now() - start).count();
}

template <typename T>
Json optional_json(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// JSON has no infinity (no difference) and no NaN (not measured).
Json number_json(double value) {
  if (std::isnan(value)) return nullptr;
  return std::isfinite(value) ? Json(value) : Json(value > 0 ? "inf" : "-inf");
}

double number_of(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (!json.is_string()) return std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  return json == "inf" ? infinity : -infinity;
}

class Sweeping {
 public:
  Sweeping(const Model& model, Samples& samples, const SweepOptions& options)
      : model_(model),
        options_(options),
        samples_(samples),
        shared_(samples),
        parts_(split_samples(samples.size(), options.quantize.effort != Effort::fast)),
        scorer_(model,
                {shared_, parts_.held_back, options.quantize.threads, options.quantize.records}) {
    fs::create_directories(options.folder);
    signature_ = signature();
  }

  SweepResult run() {
    result_.held_back_samples = scorer_.samples();
    result_.rows.push_back(float_row());
    for (std::size_t i = 0; i < options_.precisions.size(); ++i) {
      const std::string& precision = options_.precisions[i];
      if (options_.progress && !options_.progress(i, options_.precisions.size(), precision)) {
        result_.interrupted = true;
        break;
      }
      try {
        result_.rows.push_back(row(precision));
      } catch (const Stopped&) {
        result_.interrupted = true;
        break;
      }
    }
    mark_best();
    return std::move(result_);
  }

 private:
  SweepRow float_row() {
    SweepRow row{.precision = "fp32",
                 .file = model_.path().filename(),
                 .bytes = bytes_of(model_.path()),
                 .sqnr_db = std::numeric_limits<double>::infinity(),
                 .deployed_sqnr_db = std::numeric_limits<double>::infinity()};
    row.accuracy = scorer_.reference_accuracy();
    if (scorer_.scores_tokens()) row.kl_mean = 0;
    if (options_.peak_memory) row.peak_bytes = options_.peak_memory(model_.path());
    return row;
  }

  fs::path file_of(const std::string& precision) const {
    return options_.folder / fmt::format("{}.{}.onnx", model_.path().stem().string(), precision);
  }

  // What decides whether a row is reused: model, samples, some options, versions and CPU.
  std::string signature() {
    std::string hashes;
    for (std::int64_t i = 0; i < shared_.size(); ++i) {
      for (const Tensor& input : shared_.sample(i)) hashes += content_hash(input.bytes).text();
      if (const auto labels = shared_.labels(i)) hashes += content_hash(labels->bytes).text();
    }
    return fmt::format("{} {}, {} samples of {} {}, {}, vernier {}, ONNX Runtime {}, {}",
                       model_.name(), model_hash(model_.path(), &model_), samples_.size(),
                       options_.inputs, content_hash(hashes).text(), quantizing(), version(),
                       onnxruntime_version(), cpu_kind());
  }

  std::string quantizing() const {
    const QuantizeOptions& options = options_.quantize;
    std::string text = fmt::format(
        "{} {} {}, {} and {} in 8 bits kept, blocks of {} {}", placement_name(options.placement),
        target_cpu_name(options.target), static_cast<int>(options.effort),
        fmt::join(options.keep_nodes, " "), fmt::join(options.keep_8bit, " "), options.block_size,
        options.symmetric_weights);
    for (const auto& [tensor, range] : options.given_ranges)
      text += fmt::format(", {} {} {}", tensor, range.low, range.high);
    return text;
  }

  SweepRow row(const std::string& precision) {
    const fs::path file = file_of(precision);
    if (auto finished = read_row(precision, file)) return *finished;
    SweepRow made{.precision = precision, .file = file.filename()};
    try {
      write(precision, file);
      measure(file, made);
      write_row(made, file);
    } catch (const Stopped&) {
      throw;
    } catch (const Error& error) {
      made.failure = error.what();
    }
    return made;
  }

  void write(const std::string& precision, const fs::path& file) {
    if (precision == "fp16") return convert_to_fp16(model_).model.save(file);
    QuantizeOptions options = options_.quantize;
    options.precision = parse_quantized_precision(precision);
    const QuantizeResult quantized = quantize(model_, &samples_, options);
    quantized.model.save(file);
  }

  void measure(const fs::path& file, SweepRow& row) {
    const Model candidate = Model::load(file);
    const OutputScore exact = scorer_.score(candidate);
    row.bytes = bytes_of(file);
    row.sqnr_db = exact.sqnr_db();
    row.deployed_sqnr_db = scorer_.score(candidate, Arithmetic::deployed).sqnr_db();
    row.agreement = exact.agreement;
    row.accuracy = exact.accuracy;
    if (scorer_.scores_tokens()) row.kl_mean = exact.kl_mean();
    row.latency_ratio = latency_ratio(candidate);
    if (options_.peak_memory) row.peak_bytes = options_.peak_memory(file);
  }

  // Both models run alternately, so that other load on the machine affects both.
  double latency_ratio(const Model& candidate) {
    OrtRunner reference_runner(model_.clone()), runner(candidate.clone());
    const std::vector<Tensor> inputs = shared_.sample(0);
    reference_runner.run(inputs);
    runner.run(inputs);
    std::vector<double> ratios;
    for (std::int64_t i = 0; i < options_.latency_runs; ++i) {
      const double reference = seconds(reference_runner, inputs);
      ratios.push_back(seconds(runner, inputs) / reference);
    }
    return median(std::move(ratios));
  }

  fs::path row_file(const fs::path& file) const { return fs::path(file).concat(".json"); }

  void write_row(const SweepRow& row, const fs::path& file) const {
    const Json json = {{"signature", signature_},
                       {"bytes", row.bytes},
                       {"sqnr_db", number_json(row.sqnr_db)},
                       {"deployed_sqnr_db", number_json(row.deployed_sqnr_db)},
                       {"latency_ratio", row.latency_ratio},
                       {"peak_bytes", optional_json(row.peak_bytes)},
                       {"agreement", optional_json(row.agreement)},
                       {"accuracy", optional_json(row.accuracy)},
                       {"kl_mean", row.kl_mean ? number_json(*row.kl_mean) : Json()}};
    const std::string text = json_text(json);
    AtomicFile out(row_file(file));
    out.append(std::as_bytes(std::span(text)));
    out.commit();
  }

  std::optional<SweepRow> read_row(const std::string& precision, const fs::path& file) const {
    if (!fs::is_regular_file(row_file(file)) || !fs::exists(file)) return std::nullopt;
    const Json json = try_parse_json<Json>(as_text(read_file(row_file(file), "sweep")));
    if (!json.is_object() || json.value("signature", "") != signature_ ||
        json.value("bytes", std::int64_t{-1}) != bytes_of(file))
      return std::nullopt;
    const auto number = [&](const char* key) {
      return json.contains(key) && json[key].is_number() ? std::optional(json[key].get<double>())
                                                         : std::nullopt;
    };
    SweepRow row{.precision = precision, .file = file.filename(), .bytes = bytes_of(file)};
    row.sqnr_db = number_of(json.value("sqnr_db", Json()));
    row.deployed_sqnr_db = number_of(json.value("deployed_sqnr_db", Json()));
    row.latency_ratio = number("latency_ratio").value_or(1);
    if (const auto peak = number("peak_bytes")) row.peak_bytes = static_cast<std::int64_t>(*peak);
    row.agreement = number("agreement");
    row.accuracy = number("accuracy");
    if (scorer_.scores_tokens()) row.kl_mean = number_of(json.value("kl_mean", Json()));
    row.was_there = true;
    return row;
  }

  // Marks the Pareto front: rows for which no other row is as good in all of size, latency and
  // SQNR, and better in one.
  void mark_best() {
    for (SweepRow& row : result_.rows)
      row.best = row.failure.empty() && !std::isnan(row.deployed_sqnr_db) &&
                 std::ranges::none_of(result_.rows, [&](const SweepRow& other) {
                   if (!other.failure.empty()) return false;
                   const bool as_good = other.bytes <= row.bytes &&
                                        other.latency_ratio <= row.latency_ratio &&
                                        other.deployed_sqnr_db >= row.deployed_sqnr_db;
                   const bool better = other.bytes < row.bytes ||
                                       other.latency_ratio < row.latency_ratio ||
                                       other.deployed_sqnr_db > row.deployed_sqnr_db;
                   return as_good && better;
                 });
  }

  const Model& model_;
  const SweepOptions& options_;
  Samples& samples_;
  SharedSamples shared_;
  SampleParts parts_;
  OutputScorer scorer_;
  std::string signature_;
  SweepResult result_;
};

}  // namespace

SweepResult sweep(const Model& model, Samples& samples, const SweepOptions& options) {
  for (const std::string& precision : options.precisions)
    if (precision != "fp16") parse_quantized_precision(precision);
  return Sweeping(model, samples, options).run();
}

}  // namespace vernier
