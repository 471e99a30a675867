#include "vernier/analysis/check/operators.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <vector>

#include "vernier/analysis/check/close_names.h"

namespace vernier {
namespace {

// ONNX's operators by the opset that brought them.
struct Introduction {
  std::int64_t opset;
  std::string_view operators;  // separated by spaces
};
constexpr std::array introductions = {
    Introduction{
        1,
        "Abs Add And ArgMax ArgMin AveragePool BatchNormalization Cast Ceil Clip Concat "
        "Constant Conv ConvTranspose DepthToSpace Div Dropout Elu Equal Exp Flatten Floor GRU "
        "Gather Gemm GlobalAveragePool GlobalLpPool GlobalMaxPool Greater HardSigmoid Hardmax "
        "Identity If InstanceNormalization LRN LSTM LeakyRelu Less Log LogSoftmax Loop "
        "LpNormalization LpPool MatMul Max MaxPool MaxRoiPool Mean Min Mul Neg Not Or PRelu "
        "Pad Pow RNN RandomNormal RandomNormalLike RandomUniform RandomUniformLike Reciprocal "
        "ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp ReduceMax ReduceMean ReduceMin "
        "ReduceProd ReduceSum ReduceSumSquare Relu Reshape Selu Shape Sigmoid Size Slice "
        "Softmax Softplus Softsign SpaceToDepth Split Sqrt Squeeze Sub Sum Tanh Tile TopK "
        "Transpose Unsqueeze Upsample Xor"},
    Introduction{7, "Acos Asin Atan Cos Multinomial Sin Tan"},
    Introduction{8, "Expand Scan"},
    Introduction{
        9,
        "Acosh Asinh Atanh Compress ConstantOfShape Cosh Erf EyeLike IsNaN MaxUnpool "
        "MeanVarianceNormalization NonZero OneHot Scatter Shrink Sign Sinh TfIdfVectorizer "
        "Where"},
    Introduction{
        10,
        "ConvInteger DequantizeLinear IsInf MatMulInteger Mod NonMaxSuppression QLinearConv "
        "QLinearMatMul QuantizeLinear Resize ReverseSequence RoiAlign StringNormalizer "
        "ThresholdedRelu"},
    Introduction{
        11,
        "BitShift ConcatFromSequence CumSum Det DynamicQuantizeLinear GatherElements GatherND "
        "Range Round ScatterElements ScatterND SequenceAt SequenceConstruct SequenceEmpty "
        "SequenceErase SequenceInsert SequenceLength SplitToSequence Unique"},
    Introduction{12,
                 "Celu Einsum GreaterOrEqual LessOrEqual NegativeLogLikelihoodLoss "
                 "SoftmaxCrossEntropyLoss"},
    Introduction{14, "HardSwish Trilu"},
    Introduction{15, "Bernoulli CastLike Optional OptionalGetElement OptionalHasElement"},
    Introduction{16, "GridSample"},
    Introduction{
        17,
        "BlackmanWindow DFT HammingWindow HannWindow LayerNormalization MelWeightMatrix STFT "
        "SequenceMap"},
    Introduction{
        18,
        "BitwiseAnd BitwiseNot BitwiseOr BitwiseXor CenterCropPad Col2Im GroupNormalization "
        "Mish"},
    Introduction{19, "DeformConv"},
    Introduction{20, "AffineGrid Gelu ImageDecoder RegexFullMatch StringConcat StringSplit"},
    Introduction{23, "Attention RMSNormalization RotaryEmbedding"},
    Introduction{24, "Swish TensorScatter"},
};

struct Removal {
  std::string_view op_type;
  std::int64_t opset;
  std::string_view replacement;
};
constexpr std::array removals = {Removal{"Upsample", 10, "Resize"},
                                 Removal{"Scatter", 11, "ScatterElements"}};

// The opset that each IR version begins with.
struct IrVersion {
  std::int64_t opset, ir_version;
};
constexpr std::array ir_versions = {IrVersion{1, 3},   IrVersion{9, 4},   IrVersion{10, 5},
                                    IrVersion{11, 6},  IrVersion{12, 7},  IrVersion{15, 8},
                                    IrVersion{19, 9},  IrVersion{21, 10}, IrVersion{23, 11},
                                    IrVersion{24, 12}, IrVersion{25, 13}};

bool lists(std::string_view operators, std::string_view op_type) {
  std::istringstream words{std::string(operators)};
  for (std::string word; words >> word;)
    if (word == op_type) return true;
  return false;
}

}  // namespace

std::optional<OperatorHistory> operator_history(std::string_view op_type) {
  const auto introduced = std::ranges::find_if(
      introductions, [&](const Introduction& entry) { return lists(entry.operators, op_type); });
  if (introduced == introductions.end()) return std::nullopt;
  OperatorHistory history{.since = introduced->opset};
  for (const Removal& removal : removals)
    if (removal.op_type == op_type) {
      history.removed = removal.opset;
      history.replacement = removal.replacement;
    }
  return history;
}

bool exists_in(const OperatorHistory& history, std::int64_t opset) {
  return opset >= history.since && (history.removed == 0 || opset < history.removed);
}

std::string closest_operator(std::string_view op_type) {
  std::vector<std::string> names;
  for (const Introduction& entry : introductions) {
    std::istringstream words{std::string(entry.operators)};
    for (std::string word; words >> word;) names.push_back(word);
  }
  const std::vector<std::string> close = close_names(op_type, names);
  return close.empty() ? "" : close.front();
}

std::int64_t ir_version_of(std::int64_t opset) {
  std::int64_t version = 3;
  for (const IrVersion& entry : ir_versions)
    if (opset >= entry.opset) version = entry.ir_version;
  return version;
}

bool is_runtime_domain(std::string_view domain) { return domain.starts_with("com.microsoft"); }

bool is_standard_domain(std::string_view domain) {
  return domain.empty() || domain == "ai.onnx" || domain.starts_with("ai.onnx.");
}

}  // namespace vernier
