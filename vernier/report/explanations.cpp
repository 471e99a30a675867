#include "vernier/report/explanations.h"

#include <algorithm>
#include <array>

#include "vernier/analysis/check/finding_kinds.h"

namespace vernier {
namespace {

constexpr std::array explanation_texts = {
    Explanation{"unreadable-file", "The file is not an ONNX model",
                "The file does not parse as an ONNX model, or holds no graph.",
                "Nothing can load it. Usually the copy or download was cut off, or the file is a "
                "Git LFS pointer or another format under an .onnx name.",
                "Export or fetch the file again and compare its size with the original."},
    Explanation{"unknown-operator", "An operator does not exist in its opset",
                "A node uses an operator that the imported version of its operator set does not "
                "have: it came later, was removed, or never existed.",
                "No runtime can execute the node, so the model cannot be loaded.",
                "Export with an opset that has the operator, or replace the operator."},
    Explanation{
        "custom-operator", "An operator comes from a custom domain",
        "A node uses a domain that is neither ONNX's nor ONNX Runtime's, and the model defines no "
        "function of that name.",
        "The model only loads where the library that implements the operator is registered.",
        "Register the custom operator's library where the model is deployed, or export the module "
        "as standard operators."},
    Explanation{"contrib-operator", "An operator exists in ONNX Runtime alone",
                "A node uses one of ONNX Runtime's own domains, such as com.microsoft.",
                "Other runtimes cannot load the model.",
                "If the model has to run elsewhere, export without ONNX Runtime's fusions."},
    Explanation{
        "refused-model", "ONNX Runtime does not accept the model",
        "Creating a session fails although every operator is known: types or shapes contradict "
        "each other, or there is no kernel for a type.",
        "The model cannot be used.",
        "Correct the node that is named, or export again with a newer exporter or another opset."},
    Explanation{"other-output-shape", "An output has another shape than it declares",
                "A run gives an output of another rank, or of another size along an axis of fixed "
                "size, than the model declares for it.",
                "Code that trusts the declared shape reads the wrong elements, or past the end.",
                "Correct the declared shape, or the layer that gives another one."},
    Explanation{
        "failed-run", "A run on generated inputs fails",
        "The model loads, but a run on inputs of the declared shapes and types ends with an error.",
        "The model does not accept the inputs it declares.",
        "Look at the node that is named: a size that was traced as a constant is the usual cause."},
    Explanation{
        "crashed-run", "ONNX Runtime crashes, or does not end",
        "Loading the model, or a run on inputs of the declared shapes and types, ends the whole "
        "process by a signal, or is not done after a minute.",
        "Whoever sends such inputs ends the program that serves the model. Typical causes: "
        "kernels that do not check sizes, integer divisions without a result and loops without an "
        "end.",
        "Look at the node that is named: declare the sizes that it needs, or replace it; or use a "
        "version of ONNX Runtime that refuses them."},
    Explanation{
        "not-run", "The model could not be run",
        "No inputs could be generated: their shapes are not declared, they are not tensors, "
        "no size that was tried for the dynamic axes runs, or an input is a number (a "
        "size, a rate) whose value matters. Or there was not enough memory for a run.",
        "Everything that needs a run was not checked: the verdict is INCONCLUSIVE unless "
        "something else fails.",
        "Pass --shape NAME=DIMS with a size that the model takes, or --input-data; where "
        "memory was short, use a machine with more of it."},
    Explanation{"nondeterministic", "Two runs on the same inputs differ",
                "A second run on the same inputs gives other bytes.",
                "Results cannot be compared or reproduced; a random operator or an active Dropout "
                "is the usual cause.",
                "Export in eval mode and take random operators out of the graph."},
    Explanation{
        "output-differs", "An output differs from the reference",
        "On the same inputs (zeros, ones, large values and random ones) an output is further from "
        "the reference than 1e-3, and than 1e-4 of the output's norm. A float16 model has to keep "
        "the limits of eval, 40 dB on average and 35 on every sample, a quantized one 15 and 10 dB "
        "on inputs that are given; on random ones it is only noted.",
        "The export does not compute what the original model computes.",
        "Export in eval mode; then compare tensor by tensor to find the first layer that differs."},
    Explanation{
        "nonfinite-reference", "The reference is not finite",
        "On random or given inputs the reference itself has NaN or infinity in an output, so the "
        "output cannot be compared there. On given inputs it is an error.",
        "Whether the model computes what the reference computes is not known: the verdict is "
        "INCONCLUSIVE unless something else fails.",
        "Pass --input-data with inputs that the reference is made for, or compare with another "
        "reference."},
    Explanation{
        "frozen-axis", "An axis is declared dynamic but is not",
        "A declared dynamic axis fails with every other size that was tried, by itself and "
        "together with others, or an output does not follow it.",
        "Code that trusts the declared shape gets an error or a wrong result in production: the "
        "size of the example was traced into the graph as a constant.",
        "Compute sizes from the input's shape (x.shape[0], or -1 in a reshape) and export "
        "again, or declare the axis with its fixed size."},
    Explanation{
        "mixed-batch", "Rows of a batch influence each other",
        "Samples that run together in a batch give other results than each of them alone. In a "
        "model that quantizes dynamically this is only noted: its scales are of the whole batch.",
        "Results depend on what else is in the batch: batch statistics, or a reshape that mixes "
        "the batch axis with another.",
        "Export in eval mode, and check reshapes and reductions that touch axis 0."},
    Explanation{"fixed-batch", "The batch is fixed though the graph is not",
                "The inputs declare a fixed batch, yet the graph runs with another one when the "
                "declaration is taken away, with the same results row by row.",
                "The model only takes the batch of the example it was exported with.",
                "Export with dynamic_axes={'input': {0: 'batch'}} (or dynamic_shapes), unless the "
                "target needs a fixed batch."},
    Explanation{"fixed-sequence", "The sequence length is fixed though the graph is not",
                "An input declares a fixed sequence length, yet the graph runs with a shorter one "
                "when the declaration is taken away.",
                "Every input has to be padded to the length of the example.",
                "Export with that axis dynamic, unless the target needs a fixed length."},
    Explanation{
        "active-dropout", "Dropout is active",
        "A Dropout node has training_mode set (before opset 7: is_test=0) and a ratio above 0.",
        "Activations are zeroed at random during inference.",
        "Call model.eval() before the export, and leave training=TrainingMode.EVAL."},
    Explanation{
        "training-batchnorm", "BatchNormalization is in training mode",
        "A BatchNormalization node has training_mode=1 (before opset 14: outputs for statistics; "
        "before opset 7: is_test=0), or takes its mean and variance from the batch.",
        "It normalises with the statistics of the current batch instead of the learned ones.",
        "Call model.eval() before the export; check track_running_stats=True."},
    Explanation{"batch-statistics", "A normalisation runs over the batch",
                "A mean over the batch axis is subtracted from the tensor it was computed of.",
                "This is how a BatchNorm in training mode looks after export: results depend on "
                "what else is in the batch.",
                "Call model.eval() before the export; reduce over feature axes only."},
    Explanation{
        "random-operator", "An operator draws random numbers",
        "The graph holds RandomNormal, RandomUniform, Bernoulli, Multinomial or their like.",
        "In an inference graph that is usually a leftover of training: noise, DropPath, sampling.",
        "Export in eval mode, or feed the noise as an input."},
    Explanation{"nonfinite-constant", "A constant holds NaN or infinity",
                "A weight or constant holds NaN, or infinity that is no mask. Constants of 0 and "
                "-inf alone, and single infinities as bounds, are not reported.",
                "One NaN spreads to every output that depends on it.",
                "Look for the NaN in the checkpoint; if the model was converted to float16, keep "
                "this weight in float32."},
    Explanation{"nonfinite-value", "NaN or infinity appears on generated inputs",
                "A run on ordinary random inputs gives NaN or infinity in an output, or NaN inside "
                "(a warning, where no output shows it).",
                "Outputs are unusable on such inputs.",
                "Look at the operator that is named: log or sqrt of a negative number, a division "
                "by zero, or an overflow in float16."},
    Explanation{
        "fp16-overflow", "A constant does not fit into float16",
        "A float32 constant is beyond 65504. It is a warning where the graph itself casts it to "
        "float16.",
        "In float16 it becomes infinity: masks of -3.4e38 are the usual case.",
        "If the model is to run in float16, keep constants within 65504, masks among them."},
    Explanation{"float64", "float64 is left in the graph",
                "A tensor that is computed at run time is float64.",
                "It is slow, doubles the memory, and most accelerators refuse it; often a Python "
                "float or numpy scalar slipped into the traced code.",
                "Make the constants float32 (torch.tensor(x, dtype=x.dtype)) and export again."},
    Explanation{
        "cast-round-trip", "A cast to fewer bits and back",
        "Values are cast to a narrower float type and, after at most one operator, back.",
        "Precision is lost for nothing: both casts cost time and the operator gains little.",
        "Remove both casts, or keep the neighbouring operators in the narrow type too."},
    Explanation{"subnormal-weights", "Many weights are subnormal",
                "At least 1% of a weight's elements (float16: 10%) are so small that they are "
                "stored with reduced precision.",
                "CPUs are up to a hundred times slower on them and many runtimes flush them to "
                "zero: a trace of too much weight decay or of a conversion to float16.",
                "Set such values to zero before the export; in float16, scale the weight or keep "
                "it in float32."},
    Explanation{"dead-channels", "Output channels have no weights",
                "All weights of an output channel of a Conv, Gemm or MatMul are zero. Less than a "
                "tenth of the channels is a note.",
                "The channel is constant whatever comes in: a pruned or never trained part of the "
                "model, or weights that were lost on the way.",
                "Compare with the checkpoint; if it is so there too, remove the channels."},
    Explanation{
        "unfolded-batchnorm", "BatchNormalization was not folded into Conv",
        "A BatchNormalization with constant parameters follows a Conv or Gemm that nothing else "
        "reads.",
        "Runtimes without that optimisation do needless work, and quantizers see two layers.",
        "Export with constant folding in eval mode, or run ONNX Runtime's basic optimisation."},
    Explanation{"vanishing-epsilon", "An epsilon is zero in its type",
                "The epsilon of a normalisation, or a constant added before a square root, "
                "logarithm or division, rounds to zero in the type it is used in.",
                "It no longer protects against division by zero.",
                "Use an epsilon that the type can hold: at least 6e-8 in float16, better 1e-5."},
    Explanation{"fp16-softmax", "Softmax over a long axis in float16",
                "A Softmax or LogSoftmax in float16 runs over more than 2048 elements.",
                "float16 counts exactly to 2048 only: the sum loses terms and small probabilities "
                "become zero, unless the runtime computes inside in float32.",
                "Keep this Softmax in float32 (vernier convert --keep-fp32 op:Softmax)."},
    Explanation{"index-out-of-range", "An index reaches past a table",
                "A constant index, or an integer input within the range that its table allows, "
                "reads past the end of an embedding or another indexed axis.",
                "The run fails, or reads wrong rows on runtimes that do not check.",
                "Make the table as long as the vocabulary, or clamp the index before it is used."},
    Explanation{"unreadable-preprocessing", "The preprocessing cannot be read",
                "The file beside the model that says how its images are prepared is malformed, or "
                "asks for steps that are not known.",
                "Whether model and preprocessing fit together was not checked.",
                "Correct the file, or name another one with --preprocessing."},
    Explanation{
        "image-layout", "Channels are on another axis",
        "The preprocessing or the sidecar puts channels first and the model takes them last, or "
        "the other way round.",
        "Pixels are read in the wrong order, or the run fails.",
        "Transpose the image, or export the model with the layout that its preprocessing gives."},
    Explanation{"image-size", "The image has another size or channel count",
                "The preprocessing ends with another height, width or number of channels than the "
                "model's input declares.",
                "The model cannot be fed.",
                "Change the size in the preprocessing, or export the model with that size."},
    Explanation{"value-range", "Values are in another range than the model takes",
                "The graph divides by 255 itself and the preprocessing rescales too, or neither "
                "does and the graph's constants are those of the other range.",
                "Inputs are 255 times too small or too large: the model runs and is wrong.",
                "Rescale once: set rescale_factor to 1 (do_rescale: false), or take the division "
                "out of the graph."},
    Explanation{
        "normalised-twice", "Mean and deviation are applied twice",
        "The first operators of the graph normalise, and so does the preprocessing.",
        "Inputs are shifted and scaled twice: the model runs and is wrong.",
        "Take mean and std out of the preprocessing, or the normalisation out of the graph."},
    Explanation{"never-normalised", "Nothing applies mean and deviation",
                "Neither the graph nor the preprocessing normalises the image.",
                "Most networks for images were trained on normalised ones; some were not.",
                "If the model was trained with mean and std, add them to the preprocessing."},
    Explanation{"channel-order", "RGB and BGR seem to be swapped",
                "The constants with which the graph or the preprocessing normalises are the usual "
                "ones in reverse order, against the channel order that the preprocessing gives.",
                "Red and blue are exchanged: accuracy drops by a few points without an error.",
                "Set channel_order (do_flip_channel_order) to what the model was trained with."},
    Explanation{"missing-external-data", "External data is missing or too short",
                "A weight is said to be in a file beside the model that is not there or does not "
                "hold all of it.",
                "The model cannot be loaded.",
                "Copy the data file together with the model, under the name that the model gives."},
    Explanation{"escaping-external-data", "External data is outside the model's folder",
                "A weight's file is given by an absolute path, a path with '..', or a link that "
                "leaves the folder.",
                "The model breaks when it is moved, and a foreign model could read any file.",
                "Save the model again with its data in one file beside it."},
    Explanation{"oversized-file", "The file is larger than 2 GB without external data",
                "The model holds its weights itself and is larger than 2 GB.",
                "Protobuf cannot read such a file: most tools refuse it.",
                "Save the model with external data (save_as_external_data=True)."},
    Explanation{"unused-initializer", "An initializer is never read",
                "No node reads the weight, and it is no output. Below 1 kB it is only noted.",
                "It only takes space, or a part of the model got lost in the export.",
                "Remove it, or find the layer that should read it."},
    Explanation{"unused-node", "A node's results are never used",
                "Nothing that the node computes reaches an output. A Constant is only noted.",
                "It only takes time, or an output was left out of the export.",
                "Remove the node, or declare the missing output."},
    Explanation{"unused-input", "An input of the model is never read", "No node reads the input.",
                "Callers have to give what has no effect, or an export lost what should read it.",
                "Leave the input out of the export, or find the layer that should read it."},
    Explanation{
        "unsorted-nodes", "Nodes do not stand in the order of computing",
        "A node reads what a later node writes. ONNX Runtime sorts them by itself.",
        "ONNX requires them to be sorted: its checker and other runtimes refuse the model.",
        "Sort the nodes (onnxruntime.quantization.onnx_model.ONNXModel(model).topological_sort()) "
        "and save the model again."},
    Explanation{"repeated-initializer", "Two weights have one name",
                "The graph stores several initializers under the same name.",
                "Which of them is used depends on the runtime.",
                "Give each its own name, or remove those that are left over."},
    Explanation{"duplicate-initializer", "The same weight is stored more than once",
                "Initializers of at least 4 kB hold the same bytes.",
                "Space is wasted; tied weights (embedding and head) come apart when the model is "
                "fine-tuned or quantized.",
                "Let the nodes read one initializer."},
    Explanation{"identity-chain", "Identity nodes follow each other",
                "An Identity reads the result of another Identity.",
                "It is harmless and shows that the graph was not simplified.",
                "Run ONNX Runtime's basic optimisation, or export with constant folding."},
    Explanation{"constant-node", "Large constants are nodes instead of initializers",
                "Constant nodes hold tensors of at least 1 kB.",
                "Tools that look for weights (quantizers, external data) only see initializers.",
                "Turn them into initializers, or export with keep_initializers_as_inputs=False and "
                "constant folding."},
    Explanation{"old-opset", "The opset is older than 13",
                "The model imports an ONNX operator set below 13.",
                "Per-channel quantization, bfloat16 and many fixes of operators need 13 or newer.",
                "Export with opset_version=17, or convert the version."},
    Explanation{
        "initializer-as-input", "Weights are listed as inputs",
        "From IR version 4 on, an initializer that is also an input is a default that callers may "
        "replace.",
        "Runtimes cannot treat it as constant: they fold, fuse and prepack less, and quantizers "
        "leave its operator in float.",
        "Export with keep_initializers_as_inputs=False, or take the weights off the inputs."},
    Explanation{"old-ir-version", "The IR version is older than the opset needs",
                "The file's IR version came before the opset that it imports.",
                "Strict loaders and the ONNX checker refuse the combination.",
                "Save the model again with a current onnx package, or set ir_version."},
    Explanation{
        "missing-shapes", "Shapes are missing that could be inferred",
        "Tensors of the main graph have no declared shape although shape inference finds one.",
        "Quantizers, partitioners and viewers rely on declared shapes.",
        "Run shape inference on the model before it goes to such tools."},
    Explanation{"unpaired-quantize", "QuantizeLinear without DequantizeLinear",
                "Quantized numbers go to an operator that does not know their scale.",
                "The operator computes with stored numbers as if they were real ones.",
                "Put a DequantizeLinear with the same scale behind the QuantizeLinear."},
    Explanation{
        "mismatched-pair", "QuantizeLinear and DequantizeLinear disagree",
        "A DequantizeLinear right behind a QuantizeLinear has another scale or zero point.",
        "Every number comes back multiplied by the ratio of the scales, or shifted.",
        "Give both the same scale and zero point; calibrate again if they were edited by hand."},
    Explanation{
        "unfilled-range", "A calibration range is hardly used",
        "A quantizer covers more than eight times what its tensor can reach (behind Sigmoid, "
        "Softmax or Tanh), or what it reaches on the inputs that were given.",
        "Most of its codes stand for numbers that never occur: three bits or more are lost.",
        "Calibrate again with data like that of the deployment, without outliers."},
    Explanation{"differing-requantize", "Numbers go from one quantizer to another",
                "A DequantizeLinear is followed at once by a QuantizeLinear with another scale or "
                "zero point.",
                "Every such step rounds again, and runtimes cannot fuse the pair away.",
                "Give both the same scale and zero point, or quantize the tensor once."},
    Explanation{
        "degenerate-scale", "A scale is zero, denormal or not finite",
        "A quantization scale is 0, negative, subnormal (a warning in float16), infinite or NaN.",
        "All numbers come back as zero, NaN or infinity.",
        "Calibrate again with data that reaches this tensor; set a minimum range."},
    Explanation{"zero-point-range", "A zero point is out of range",
                "A zero point does not fit its type, is not of the stored numbers' type, or is not "
                "0 where the format requires 0 (int32 and float8).",
                "Runtimes refuse it or silently wrap it around.",
                "Quantize again with a current quantizer, or correct the zero point."},
    Explanation{
        "unquantized-operator", "An operator stayed in float among quantized ones",
        "A Conv, MatMul or Gemm with a constant weight computes in float between quantized ones.",
        "It costs speed, and a change of types on both sides. It may be intentional, to keep "
        "accuracy.",
        "Quantize it too if accuracy allows; otherwise leave it."},
};

}  // namespace

std::span<const Explanation> explanations() { return explanation_texts; }

const Explanation& explanation(std::string_view id) {
  return *std::ranges::find(explanation_texts, finding_kind(id).id, &Explanation::id);
}

}  // namespace vernier
