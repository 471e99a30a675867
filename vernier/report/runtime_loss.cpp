#include "vernier/report/runtime_loss.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "vernier/report/command_line.h"
#include "vernier/report/number.h"

namespace vernier {
namespace {

using Kind = RuntimeRemedy::Kind;

// The session option that the remedy sets to 1; empty if it sets none.
std::string_view session_key(Kind kind) {
  switch (kind) {
    case Kind::x64_precision: return "session.x64quantprecision";
    case Kind::float_products: return "session.qdq_matmulnbits_accuracy_level";
    case Kind::no_integers: return "session.disable_quant_qdq";
    default: return "";
  }
}

// ", first at /stem/Conv (QLinearConv)"
std::string place_text(const std::optional<InexactOperator>& first, const char* before) {
  return first ? fmt::format("{}first at {} ({})", before, first->node, first->op) : "";
}

// The remedy, its gain, and the code or command that applies it.
std::string remedy_sentence(const ArithmeticLoss& why, const RuntimeLoss& loss) {
  const RuntimeRemedy& remedy = *why.remedy;
  std::string text =
      fmt::format("; {} recover{} them ({} -> {} dB)", runtime_remedy_text(remedy),
                  remedy.kind == Kind::keep_in_float && remedy.nodes.size() > 1 ? "" : "s",
                  format_decibels(why.as_run_db), format_decibels(remedy.sqnr_db));
  if (const std::string code = session_code(remedy); !code.empty()) return text + ": " + code;
  if (remedy.kind == Kind::keep_in_float && !loss.reference.empty())
    text += ": " + keep_command(loss.candidate, loss.reference, remedy.nodes);
  return text;
}

}  // namespace

std::string_view runtime_remedy_name(Kind kind) {
  switch (kind) {
    case Kind::x64_precision: return "x64_precision";
    case Kind::float_products: return "float_products";
    case Kind::accuracy_level: return "accuracy_level";
    case Kind::keep_in_float: return "keep_in_float";
    case Kind::no_integers: return "no_integers";
    case Kind::basic_level: break;
  }
  return "basic_level";
}

std::string runtime_remedy_text(const RuntimeRemedy& remedy) {
  if (const std::string_view key = session_key(remedy.kind); !key.empty())
    return fmt::format("{}=1", key);
  switch (remedy.kind) {
    case Kind::accuracy_level:
      return fmt::format("accuracy_level=1 instead of 4, in {},",
                         format_count(std::ssize(remedy.nodes), "MatMulNBits node"));
    case Kind::keep_in_float: return fmt::format("{} in float", fmt::join(remedy.nodes, ", "));
    default: return "graph_optimization_level ORT_ENABLE_BASIC";
  }
}

std::string session_code(const RuntimeRemedy& remedy) {
  if (const std::string_view key = session_key(remedy.kind); !key.empty())
    return fmt::format(
        "options.add_session_config_entry(\"{0}\", \"1\") in Python, "
        "options.AddConfigEntry(\"{0}\", \"1\") in C++",
        key);
  if (remedy.kind == Kind::basic_level)
    return "options.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_BASIC in Python, "
           "options.SetGraphOptimizationLevel(ORT_ENABLE_BASIC) in C++";
  return "";
}

std::string runtime_loss_text(const RuntimeLoss& loss) {
  if (!is_noticeable_loss(loss.db)) return "";
  const ArithmeticLoss why = loss.why.value_or(ArithmeticLoss());
  const std::string place = place_text(why.first_operator, ", ");
  if (is_of_kernels(loss.db, loss.why))
    return fmt::format(
        "{:.1f} dB are lost in this CPU's integer kernels, not in the file{}; reduce_range, uint8 "
        "weights or session.x64quantprecision=1 recovers them",
        *loss.db, place);
  std::string text = fmt::format(
      "{:.1f} dB are lost in this ONNX Runtime's arithmetic, not in the file{}", *loss.db, place);
  if (why.remedy) return text + remedy_sentence(why, loss);
  if (why.precise_db) text += ", and session.x64quantprecision=1 does not recover them";
  if (!loss.has_stages) text += "; eval --stages names the optimisation";
  return text;
}

std::string arithmetic_text(const ArithmeticLoss& loss) {
  std::string text = fmt::format("{} {} dB as the file says, {} as this CPU runs it", loss.output,
                                 format_decibels(loss.exact_db), format_decibels(loss.as_run_db));
  if (loss.precise_db)
    text += fmt::format(", {} with session.x64quantprecision=1", format_decibels(*loss.precise_db));
  if (loss.remedy && loss.remedy->kind != Kind::x64_precision)
    text += fmt::format(", {} with {}", format_decibels(loss.remedy->sqnr_db),
                        runtime_remedy_text(*loss.remedy));
  return text + place_text(loss.first_operator, "; ");
}

}  // namespace vernier
