#include "vernier/report/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace vernier {
namespace {

std::string render_duration(double seconds) {
  const auto whole = static_cast<std::int64_t>(std::ceil(seconds));
  if (whole >= 3600)
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

std::string render_bar(double fraction, int cells) {
  const int filled = std::clamp(static_cast<int>(fraction * cells), 0, cells);
  std::string bar(filled, '=');
  if (filled < cells) bar += '>';
  bar.resize(cells, ' ');
  return bar;
}

}  // namespace

std::string render_progress(const ProgressState& state, int width) {
  const double fraction = state.total > 0 ? static_cast<double>(state.done) / state.total : 0;
  std::string line = fmt::format("{}  [{}]  {}/{}", state.label, render_bar(fraction, 20),
                                 state.done, state.total);
  if (state.done > 0 && state.seconds > 0) {
    const double rate = state.done / state.seconds;
    line += fmt::format("  {:.3g} samples/s", rate);
    if (state.done < state.total)
      line += fmt::format("  {} left", render_duration((state.total - state.done) / rate));
  }
  return line.substr(0, std::max(width, 0));
}

}  // namespace vernier
