#include "vernier/analysis/text/text_generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <thread>

#include "vernier/analysis/parts/record.h"
#include "vernier/analysis/text/text_checks.h"
#include "vernier/error.h"
#include "vernier/metrics/parallel.h"
#include "vernier/metrics/token_scores.h"
#include "vernier/runtime/stopping.h"
#include "vernier/tensor/convert.h"
#include "vernier/tensor/rows.h"

namespace vernier {
namespace {

constexpr std::int64_t most_logit_bytes = std::int64_t{1} << 28;
constexpr std::int64_t segment_length = 64;
constexpr std::int64_t least_segments = 8;
constexpr std::int64_t context_length = 24;

// Sums over a segment of a block.
struct Segment {
  double reference_nll = 0, candidate_nll = 0, kl = 0;
  std::int64_t scored = 0, compared = 0, top1 = 0, top5 = 0;

  Segment& operator+=(const Segment& more) {
    reference_nll += more.reference_nll;
    candidate_nll += more.candidate_nll;
    kl += more.kl;
    scored += more.scored;
    compared += more.compared;
    top1 += more.top1;
    top5 += more.top5;
    return *this;
  }
};

double ratio(double value, std::int64_t count) {
  return count > 0 ? value / static_cast<double>(count) : NAN;
}

// Interpolates linearly, as numpy does by default. NaN if there are no values or one is NaN.
double quantile(std::vector<float> values, double share) {
  if (values.empty()) return NAN;
  if (std::ranges::any_of(values, [](float value) { return std::isnan(value); })) return NAN;
  std::ranges::sort(values);
  const double place = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  const double low = values[below], high = values[above];
  return low + (high - low) * (place - static_cast<double>(below));
}

// Consecutive blocks of one length that share a run.
struct Group {
  std::int64_t first = 0, count = 1;
};

std::vector<Group> groups_of(const TokenBlocks& text, std::int64_t batch) {
  std::vector<Group> groups;
  for (std::int64_t i = 0; i < std::ssize(text.blocks); ++i) {
    const bool goes_on = !groups.empty() && groups.back().count < batch &&
                         text.blocks[i].size() == text.blocks[groups.back().first].size();
    if (goes_on)
      ++groups.back().count;
    else
      groups.push_back({.first = i});
  }
  return groups;
}

// Both models' scores of the token after a position.
struct Scored {
  std::int64_t block = 0, position = 0;
  TokenScore score;
};

template <typename Archive>
void fields(Archive& archive, Scored& scored) {
  TokenScore& score = scored.score;
  archive(scored.block, scored.position, score.kl, score.reference_nll, score.candidate_nll,
          score.reference_best, score.candidate_best, score.margin, score.in_top5);
}

class TextEvaluation {
 public:
  TextEvaluation(TextModel* reference, TextModel& candidate, const TokenBlocks& text,
                 const TextGenerationOptions& options)
      : reference_(reference),
        candidate_(candidate),
        text_(text),
        options_(options),
        groups_(groups_of(text, options.batch)) {}

  TextGenerationResult run() {
    require_ids();
    const auto total = std::ssize(text_.blocks);
    std::int64_t done = 0, passed = 0;  // `passed` counts blocks of other parts too
    bool go_on = !options_.progress || options_.progress(0, total);
    try {
      for (std::size_t i = 0; go_on && i < groups_.size(); ++i) {
        if (add_group(i)) done += groups_[i].count;
        passed += groups_[i].count;
        if (options_.progress) go_on = options_.progress(passed, total);
      }
    } catch (const Stopped&) {
      if (done == 0) throw;
      run_group()->resume();
    }
    if (options_.records && options_.records->is_part()) return {.interrupted = passed < total};
    result_.blocks = done;
    result_.block_length = text_.length;
    result_.interrupted = done < total;
    if (reference_ && options_.second && !result_.rounding) measure_rounding();
    if (reference_ && !options_.recorded && !result_.interrupted) compare_continuations();
    count_near_ties();
    add_figures();
    judge_figures();
    if (result_.interrupted)
      result_.verdict = interrupted_verdict(std::move(result_.verdict), done, total);
    return std::move(result_);
  }

 private:
  void require_ids() const {
    const std::int64_t most = candidate_.decoder().vocabulary;
    for (std::size_t i = 0; i < text_.blocks.size(); ++i)
      for (const std::int64_t id : text_.blocks[i])
        if (id < 0 || id >= most)
          throw Error(
              fmt::format("[text] block {} holds token {}, token ids are 0 to {}; is it of "
                          "another tokenizer?",
                          i, id, most - 1));
    if (text_.blocks.empty()) throw Error("[text] there are no tokens to score");
  }

  // Adds a group, by its record or by measuring it; false if another part measures it.
  bool add_group(std::size_t index) {
    const auto number = static_cast<std::int64_t>(index);
    SampleRecords* records = options_.records;
    if (const auto record = records ? records->find(text_section, number) : std::nullopt) {
      if (records->is_part()) return true;
      for (const Scored& scored : from_record<std::vector<Scored>>(*record)) add(scored);
      return true;
    }
    if (records && !records->runs(number, std::ssize(groups_))) return false;
    const std::vector<Scored> scores = measure(groups_[index]);
    if (records) records->keep(text_section, number, to_record(scores));
    if (!records || !records->is_part())
      for (const Scored& scored : scores) add(scored);
    return true;
  }

  std::vector<Scored> measure(const Group& group) {
    const auto length = std::ssize(text_.blocks[group.first]);
    if (group.first == 0) require_causal(text_.blocks[0]);
    const std::int64_t chunk = chunk_length(group.count, length);
    std::vector<Scored> scores;
    for (std::int64_t past = 0; past < length; past += chunk)
      add_chunk(group, past, std::min(chunk, length - past), scores);
    return scores;
  }

  // A model without a cache has to see a whole block in one run.
  std::int64_t chunk_length(std::int64_t count, std::int64_t length) const {
    if (!candidate_.keeps_cache() || (reference_ && !reference_->keeps_cache())) return length;
    const std::int64_t row = 4 * candidate_.decoder().vocabulary * count;
    return std::clamp<std::int64_t>(most_logit_bytes / row, 1, length);
  }

  // Throws Error if the logits behind a token depend on the tokens after it.
  void require_causal(const std::vector<std::int64_t>& block) {
    if (candidate_.keeps_cache() || block.size() < 4) return;
    const std::span<const std::int64_t> all(block), half = all.first(block.size() / 2);
    const Tensor whole = candidate_.logits({.tokens = all}),
                 part = candidate_.logits({.tokens = half});
    for (std::int64_t row = 0; row < std::ssize(half); ++row) {
      if (score_token(row_to_f32(whole, row), row_to_f32(part, row), -1).kl < least_lookahead)
        continue;
      throw Error(fmt::format(
          "[text] the model looks ahead: what it says behind token {} changes with the tokens "
          "further on, so it does not predict them; a masked language model is no decoder",
          row));
    }
  }

  std::vector<std::int64_t> tokens_of(const Group& group, std::int64_t past,
                                      std::int64_t length) const {
    std::vector<std::int64_t> tokens;
    for (std::int64_t i = group.first; i < group.first + group.count; ++i) {
      const auto begin = text_.blocks[i].begin() + past;
      tokens.insert(tokens.end(), begin, begin + length);
    }
    return tokens;
  }

  void add_chunk(const Group& group, std::int64_t past, std::int64_t length,
                 std::vector<Scored>& scores) {
    const std::vector<std::int64_t> tokens = tokens_of(group, past, length);
    const DecoderRun run{.tokens = tokens, .past = past, .batch = group.count};
    const Tensor candidate = candidate_.logits(run);
    if (options_.recorded) reference_->runner().seek(group.first);
    const Tensor reference = reference_ ? reference_->logits(run) : Tensor{};
    if (reference_ && reference.shape.back() != candidate.shape.back())
      throw Error(fmt::format("[text] the reference scores {} tokens, the candidate {}",
                              reference.shape.back(), candidate.shape.back()));
    if (reference_ && options_.second && group.first == 0 && past == 0)
      measure_rounding(run, reference);
    const auto score = [&](std::int64_t row) {
      const std::int64_t block = group.first + row / length, position = past + row % length;
      const auto& ids = text_.blocks[block];
      const std::int64_t next = position + 1 < std::ssize(ids) ? ids[position + 1] : -1;
      const std::vector<float> found = row_to_f32(candidate, row);
      if (!reference_)
        return Scored{block, position, {.candidate_nll = next < 0 ? 0 : token_nll(found, next)}};
      return Scored{block, position, score_token(row_to_f32(reference, row), found, next)};
    };
    const int threads = options_.threads > 0
                            ? options_.threads
                            : static_cast<int>(std::thread::hardware_concurrency());
    parallel_in_order(0, group.count * length, threads, score, [&](const Scored& scored) {
      scores.push_back(scored);
      return true;
    });
  }

  void add(const Scored& scored) {
    const auto& [block, position, score] = scored;
    const std::int64_t number = position / segment_length;
    if (block != segment_block_ || number != segment_number_) segments_.emplace_back();
    segment_block_ = block;
    segment_number_ = number;
    Segment& segment = segments_.back();
    if (position + 1 < std::ssize(text_.blocks[block])) {
      segment.reference_nll += score.reference_nll;
      segment.candidate_nll += score.candidate_nll;
      ++segment.scored;
    }
    if (!reference_) return;
    segment.kl += score.kl;
    ++segment.compared;
    segment.top1 += score.reference_best == score.candidate_best;
    segment.top5 += score.in_top5;
    kl_.push_back(static_cast<float>(score.kl));
    kl_max_ = std::isnan(score.kl) ? NAN : std::max(kl_max_, score.kl);
    if (score.reference_best != score.candidate_best) disagreements_.push_back(score.margin);
    keep_worst(scored);
  }

  void keep_worst(const Scored& scored) {
    std::vector<WorstToken>& worst = result_.worst;
    const auto& [block, position, score] = scored;
    if (score.kl == 0) return;
    const auto is_worse = [](double kl, double than) {
      return kl > than || (std::isnan(kl) && !std::isnan(than));
    };
    if (std::ssize(worst) == options_.worst &&
        (worst.empty() || !is_worse(score.kl, worst.back().kl)))
      return;
    const auto& ids = text_.blocks[block];
    const std::int64_t begin = std::max<std::int64_t>(0, position + 1 - context_length);
    WorstToken token{.block = block,
                     .position = position,
                     .kl = score.kl,
                     .context = {ids.begin() + begin, ids.begin() + position + 1},
                     .reference_best = score.reference_best,
                     .candidate_best = score.candidate_best};
    const auto place = std::ranges::find_if(
        worst, [&](const WorstToken& other) { return is_worse(token.kl, other.kl); });
    worst.insert(place, std::move(token));
    if (std::ssize(worst) > options_.worst) worst.pop_back();
  }

  // The largest difference between the reference's logits in two arithmetics.
  void measure_rounding(const DecoderRun& run, const Tensor& reference) {
    TextModel again(*options_.second, *reference_);
    const std::vector<float> first = to_f32(reference), second = to_f32(again.logits(run));
    double most = 0;
    for (std::size_t i = 0; i < std::min(first.size(), second.size()); ++i)
      most = std::max(most, std::abs(static_cast<double>(first[i]) - second[i]));
    result_.rounding = most;
  }

  // For a run whose first blocks were measured elsewhere.
  void measure_rounding() {
    const Group& group = groups_.front();
    const auto length = std::ssize(text_.blocks[group.first]);
    const std::int64_t chunk = std::min(chunk_length(group.count, length), length);
    const std::vector<std::int64_t> tokens = tokens_of(group, 0, chunk);
    const DecoderRun run{.tokens = tokens, .batch = group.count};
    measure_rounding(run, reference_->logits(run));
  }

  // Each of the two logits may be off by the rounding.
  bool is_near_tie(double margin) const {
    return result_.rounding && margin <= 2 * *result_.rounding;
  }

  void count_near_ties() {
    result_.disagreements = std::ssize(disagreements_);
    if (result_.rounding)
      result_.near_ties =
          std::ranges::count_if(disagreements_, [&](double margin) { return is_near_tie(margin); });
  }

  void compare_continuations() {
    for (std::int64_t i = 0; i < std::min<std::int64_t>(options_.prompts, result_.blocks); ++i) {
      const auto& block = text_.blocks[i];
      const std::int64_t length = std::min(options_.prompt_length, std::ssize(block));
      const auto prompt = std::span<const std::int64_t>(block).first(length);
      const auto expected = reference_->generate(prompt, options_.steps);
      const auto found = candidate_.generate(prompt, options_.steps);
      Divergence divergence{.block = i,
                            .prompt = {prompt.begin(), prompt.end()},
                            .reference = expected.tokens,
                            .candidate = found.tokens};
      const auto differs = std::ranges::mismatch(expected.tokens, found.tokens).in1;
      if (differs != expected.tokens.end()) {
        divergence.step = differs - expected.tokens.begin();
        divergence.near_tie = is_near_tie(expected.margins[*divergence.step]);
      }
      result_.divergences.push_back(std::move(divergence));
    }
  }

  void add_figures() {
    Segment total;
    for (const Segment& segment : segments_) total += segment;
    result_.scored = total.scored;
    result_.compared = total.compared;
    const bool has_interval = std::ssize(segments_) >= least_segments;
    const auto add = [&](const char* name, double candidate, std::optional<double> reference,
                         const std::function<double(const Segment&)>& figure = {}) {
      result_.figures.push_back({name, candidate, reference, std::nullopt});
      if (figure && has_interval)
        result_.figures.back().interval = bootstrap_interval(
            std::ssize(segments_), metric_of_sum(segments_, figure), options_.bootstrap);
    };
    const double found = ratio(total.candidate_nll, total.scored);
    if (!reference_) {
      add("perplexity", std::exp(found), {}, [](const Segment& segment) {
        return std::exp(ratio(segment.candidate_nll, segment.scored));
      });
      add("nll", found, {},
          [](const Segment& segment) { return ratio(segment.candidate_nll, segment.scored); });
      return;
    }
    const double expected = ratio(total.reference_nll, total.scored);
    const auto nll_change = [](const Segment& segment) {
      return ratio(segment.candidate_nll - segment.reference_nll, segment.scored);
    };
    add("perplexity", std::exp(found), std::exp(expected));
    add("perplexity_ratio", std::exp(nll_change(total)), {},
        [=](const Segment& segment) { return std::exp(nll_change(segment)); });
    add("nll", found, expected, nll_change);
    add("kl_mean", ratio(total.kl, total.compared), {},
        [](const Segment& segment) { return ratio(segment.kl, segment.compared); });
    add("kl_p99", quantile(kl_, 0.99), {});
    add("kl_max", kl_max_, {});
    const auto share = [](std::int64_t Segment::*count) {
      return [count](const Segment& segment) {
        return ratio(static_cast<double>(segment.*count), segment.compared);
      };
    };
    add("top1_agreement", share(&Segment::top1)(total), {}, share(&Segment::top1));
    add("top5_agreement", share(&Segment::top5)(total), {}, share(&Segment::top5));
  }

  void judge_figures() {
    const bool own = !options_.limits.empty();
    const std::vector<Limit> limits = own          ? options_.limits
                                      : reference_ ? default_text_limits()
                                                   : std::vector<Limit>{};
    Judged judged;
    for (const TextFigure& figure : result_.figures)
      judged.metrics.emplace_back(figure.name, figure.candidate);
    result_.verdict = make_verdict(limits, judge(limits, std::array{judged}),
                                   own ? std::vector<Doubt>() : doubts_of(limits));
  }

  // A default limit is kept, or broken, only if the whole interval says so.
  std::vector<Doubt> doubts_of(std::span<const Limit> limits) const {
    std::vector<Doubt> doubts;
    for (const Limit& limit : limits) {
      const auto figure = std::ranges::find(result_.figures, limit.metric, &TextFigure::name);
      if (!std::isfinite(figure->candidate)) continue;
      const auto& interval = figure->interval;
      const bool decided =
          interval && within(limit, interval->low) == within(limit, interval->high);
      if (!decided)
        doubts.push_back({DoubtKind::few_samples, limit.metric, static_cast<double>(result_.blocks),
                          blocks_needed(*figure, limit)});
    }
    return doubts;
  }

  // An interval shrinks with the square root of the number of blocks.
  double blocks_needed(const TextFigure& figure, const Limit& limit) const {
    const auto blocks = static_cast<double>(result_.blocks);
    if (!figure.interval) return std::max(2 * blocks, static_cast<double>(least_segments));
    const double half = (figure.interval->high - figure.interval->low) / 2;
    const double distance = std::max(std::abs(figure.candidate - limit.value), half / 10);
    return std::ceil(blocks * std::max(1.1, (half / distance) * (half / distance)));
  }

  static constexpr double least_lookahead = 1e-3;

  TextModel* reference_;
  TextModel& candidate_;
  const TokenBlocks& text_;
  const TextGenerationOptions& options_;
  std::vector<Group> groups_;
  std::vector<Segment> segments_;
  std::int64_t segment_block_ = -1, segment_number_ = -1;
  std::vector<float> kl_;
  double kl_max_ = 0;
  std::vector<double> disagreements_;  // the reference's margins where the best tokens differ
  TextGenerationResult result_;
};

}  // namespace

std::vector<Limit> default_text_limits() {
  return {{.metric = "perplexity_ratio", .fails = Limit::Fails::above, .value = 1.01},
          {.metric = "kl_mean", .fails = Limit::Fails::at_or_above, .value = most_mean_kl}};
}

std::vector<std::string> text_limit_metrics(bool has_reference) {
  if (!has_reference) return {"perplexity", "nll"};
  return {"perplexity", "perplexity_ratio", "nll",           "kl_mean", "kl_p99",
          "kl_max",     "top1_agreement",   "top5_agreement"};
}

std::int64_t text_runs(const TokenBlocks& text, std::int64_t batch) {
  return std::ssize(groups_of(text, batch));
}

TextGenerationResult evaluate_text(TextModel* reference, TextModel& candidate,
                                   const TokenBlocks& text, const TextGenerationOptions& options) {
  TextGenerationResult result = TextEvaluation(reference, candidate, text, options).run();
  const bool is_part = options.records && options.records->is_part();
  if (reference && options.exact && !result.interrupted && !is_part)
    result.arithmetic = compare_arithmetic(*reference, candidate, *options.exact, text);
  if (reference && !result.interrupted && !is_part)
    judge_caches(result, *reference, candidate, text);
  return result;
}

}  // namespace vernier
