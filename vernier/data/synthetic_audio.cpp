#include <algorithm>
#include <array>
#include <cmath>

#include "vernier/data/synthetic_signals.h"

namespace vernier {
namespace {

constexpr double sample_rate = 16000;
constexpr int harmonics = 29;
constexpr std::int64_t frame = 160;  // samples between updates of the harmonics' gains

// A resonance of the vocal tract; centre and width are in Hz.
struct Formant {
  double centre, width, gain;
};

// A synthetic voice: its pitch glides between random targets, each syllable has other formants.
class Voice {
 public:
  explicit Voice(Pcg64& random)
      : random_(random), syllables_a_second_(uniform(random, 2, 5)), from_(pitch()), to_(pitch()) {
    begin_syllable();
    sounding_ = true;  // the first syllable sounds, so that a short clip is not silent
    position_ = uniform(random, 0.2, 0.4);
  }

  double next() {
    if (count_++ % frame == 0) set_gains();
    position_ += syllables_a_second_ / sample_rate;
    if (position_ >= 1) begin_syllable();
    turns_ += hertz() / sample_rate;
    turns_ -= std::floor(turns_);
    return sounding_ ? envelope() * tone() : 0;
  }

 private:
  double pitch() { return uniform(random_, 90, 220); }
  double hertz() const { return from_ + (to_ - from_) * position_; }
  // Half a sine wave, squared: zero at both ends of a syllable.
  double envelope() const {
    const double rise = sine(position_ / 2);
    return rise * rise;
  }

  void begin_syllable() {
    position_ = 0;
    from_ = to_;
    to_ = pitch();
    sounding_ = uniform(random_, 0, 1) < 0.8;
    formants_ = {{{uniform(random_, 300, 800), 120, 1},
                  {uniform(random_, 900, 2300), 180, 0.6},
                  {uniform(random_, 2300, 3300), 250, 0.3}}};
  }

  void set_gains() {
    for (int k = 0; k < harmonics; ++k) {
      const double frequency = hertz() * (k + 1);
      gains_[k] = 0.05 / (k + 1);
      for (const Formant& formant : formants_)
        gains_[k] += formant.gain * bump((frequency - formant.centre) / formant.width);
    }
  }

  // The harmonics by sin(k x) = 2 cos(x) sin((k-1) x) - sin((k-2) x).
  double tone() const {
    const double twice_cosine = 2 * sine(turns_ + 0.25);
    double before = 0, now = sine(turns_), sum = 0;
    for (const double gain : gains_) {
      sum += gain * now;
      const double next = twice_cosine * now - before;
      before = now;
      now = next;
    }
    return sum;
  }

  Pcg64& random_;
  double syllables_a_second_;
  double from_, to_;     // pitch, in Hz
  double position_ = 0;  // within the syllable, 0 to 1
  bool sounding_ = true;
  double turns_ = 0;
  std::int64_t count_ = 0;
  std::array<Formant, 3> formants_{};
  std::array<double, harmonics> gains_{};
};

}  // namespace

std::vector<float> draw_voice(std::int64_t count, Pcg64& random) {
  const double peak = uniform(random, 0.1, 0.7);
  Voice voice(random);
  std::vector<double> samples(static_cast<std::size_t>(count));
  double loudest = 1e-9;
  for (double& sample : samples) {
    sample = voice.next();
    loudest = std::max(loudest, std::abs(sample));
  }
  std::vector<float> result;
  for (const double sample : samples)
    result.push_back(static_cast<float>(
        std::clamp(sample * peak / loudest + 0.003 * nearly_normal(random), -1.0, 1.0)));
  return result;
}

}  // namespace vernier
