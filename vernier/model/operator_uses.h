#pragma once

#include <array>
#include <string_view>

#include "vernier/model/input_uses.h"

// How operators use their inputs, for input_uses().
namespace vernier::operator_uses {

// An operator that reads elements of one input as positions along an axis of another.
struct IndexUse {
  std::string_view domain, op_type;
  int indices, data;
  std::string_view axis_attribute;
};
inline constexpr std::array index_uses = {
    IndexUse{"", "Gather", 1, 0, "axis"},
    IndexUse{"", "GatherElements", 1, 0, "axis"},
    IndexUse{"", "ScatterElements", 1, 0, "axis"},
    IndexUse{"com.microsoft", "GatherBlockQuantized", 1, 0, "gather_axis"},
    IndexUse{"com.microsoft", "EmbedLayerNormalization", 0, 2, ""},
    IndexUse{"com.microsoft", "EmbedLayerNormalization", 1, 4, ""},
    IndexUse{"com.microsoft", "EmbedLayerNormalization", 8, 3, ""},
};

// Operators whose outputs hold elements of the inputs [first, last], unchanged or rounded and in
// any order.
struct Carrier {
  std::string_view op_type;
  int first, last;  // positions of the inputs
};
inline constexpr int every = 1 << 30;

// Operators that read the inputs from position `first` on as sizes or bounds.
struct LengthUse {
  std::string_view op_type;
  int first;
};
inline constexpr std::array length_uses = {
    LengthUse{"Range", 0},
    LengthUse{"Expand", 1},
    LengthUse{"Reshape", 1},
    LengthUse{"ConstantOfShape", 0},
    LengthUse{"Tile", 1},
    LengthUse{"Slice", 1},
    LengthUse{"Pad", 1},
    LengthUse{"Resize", 3},
    LengthUse{"ReverseSequence", 1},
};

// Attention with a cache of keys and values: an output holds the input and appends to it.
struct CacheUse {
  std::string_view domain, op_type;
  int past, present;  // positions of the input and of the output
};
inline constexpr std::array cache_uses = {
    CacheUse{"", "Attention", 4, 1},
    CacheUse{"", "Attention", 5, 2},
    CacheUse{"com.microsoft", "GroupQueryAttention", 3, 1},
    CacheUse{"com.microsoft", "GroupQueryAttention", 4, 2},
    CacheUse{"com.microsoft", "SparseAttention", 3, 1},
    CacheUse{"com.microsoft", "SparseAttention", 4, 2},
    CacheUse{"com.microsoft", "MultiHeadAttention", 6, 1},
    CacheUse{"com.microsoft", "MultiHeadAttention", 7, 2},
    CacheUse{"com.microsoft", "DecoderMaskedMultiHeadAttention", 5, 1},
    CacheUse{"com.microsoft", "DecoderMaskedMultiHeadAttention", 6, 2},
    CacheUse{"com.microsoft", "Attention", 4, 1},
};

// Inputs that fused operators read as positions, lengths or masks.
struct FusedUse {
  std::string_view domain, op_type;
  int input;
  bool InputUses::*use;
};
inline constexpr std::array fused_uses = {
    FusedUse{"", "RotaryEmbedding", 3, &InputUses::positions},
    FusedUse{"com.microsoft", "RotaryEmbedding", 1, &InputUses::positions},
    FusedUse{"com.microsoft", "GroupQueryAttention", 9, &InputUses::positions},
    FusedUse{"com.microsoft", "GroupQueryAttention", 5, &InputUses::last_position},
    FusedUse{"com.microsoft", "GroupQueryAttention", 6, &InputUses::total_length},
    FusedUse{"com.microsoft", "SparseAttention", 7, &InputUses::total_length},
    FusedUse{"com.microsoft", "MultiHeadAttention", 4, &InputUses::mask},
    FusedUse{"com.microsoft", "Attention", 3, &InputUses::mask},
};

inline constexpr std::array<std::string_view, 4> convolutions = {"Conv", "ConvTranspose",
                                                                 "ConvInteger", "QLinearConv"};
// Products that count as weighted if an operand is constant.
inline constexpr std::array<std::string_view, 11> products = {
    "MatMul", "Gemm", "MatMulInteger", "QLinearMatMul", "QGemm",    "MatMulNBits",
    "LSTM",   "GRU",  "RNN",           "Einsum",        "Attention"};

inline constexpr std::array carriers = {
    Carrier{"Cast", 0, 0},
    Carrier{"CastLike", 0, 0},
    Carrier{"Identity", 0, 0},
    Carrier{"Reshape", 0, 0},
    Carrier{"Flatten", 0, 0},
    Carrier{"Squeeze", 0, 0},
    Carrier{"Unsqueeze", 0, 0},
    Carrier{"Transpose", 0, 0},
    Carrier{"Slice", 0, 0},
    Carrier{"Split", 0, 0},
    Carrier{"Concat", 0, every},
    Carrier{"Expand", 0, 0},
    Carrier{"Tile", 0, 0},
    Carrier{"Pad", 0, 0},
    Carrier{"Where", 1, 2},
    Carrier{"Gather", 0, 0},
    Carrier{"GatherElements", 0, 0},
    Carrier{"GatherND", 0, 0},
    Carrier{"Clip", 0, 0},
    Carrier{"Max", 0, every},
    Carrier{"Min", 0, every},
    Carrier{"ReduceMax", 0, 0},
    Carrier{"ReduceMin", 0, 0},
    Carrier{"Compress", 0, 0},
    Carrier{"Dropout", 0, 0},
    Carrier{"ReverseSequence", 0, 0},
    Carrier{"Trilu", 0, 0},
    Carrier{"DepthToSpace", 0, 0},
    Carrier{"SpaceToDepth", 0, 0},
    Carrier{"TopK", 0, 0},
    Carrier{"ScatterND", 0, 0},
    Carrier{"ScatterElements", 0, 0},
    Carrier{"TensorScatter", 0, 0},
    Carrier{"QuantizeLinear", 0, 0},
    Carrier{"DequantizeLinear", 0, 0},
};

// Operators whose first output has the shape of their first input. These are the ones found between
// a weight and a Gather.
inline constexpr std::array<std::string_view, 5> same_shape = {
    "Identity", "Cast", "CastLike", "QuantizeLinear", "DequantizeLinear"};

}  // namespace vernier::operator_uses
