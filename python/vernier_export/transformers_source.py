"""A Hugging Face id or a local folder.

The only place that knows transformers' classes. It uses `AutoConfig`, the class that the configuration
names or the AutoModel classes of the task, `from_pretrained`, `main_input_name`, the configuration,
and `AutoImageProcessor`.
"""

import inspect
import logging
import os
import sys

import torch

from vernier_export.errors import ExportError, first_line
from vernier_export.source import Source

TOKENS = 16  # in the example text


# The model classes for each task, in the order in which they are tried. transformers has a similar
# table, but removes tasks from it.
TASKS = {
    "audio-classification": ["AudioClassification"],
    "automatic-speech-recognition": ["CTC", "SpeechSeq2Seq"],
    "depth-estimation": ["DepthEstimation"],
    "document-question-answering": ["DocumentQuestionAnswering"],
    "feature-extraction": [""],
    "fill-mask": ["MaskedLM"],
    "image-classification": ["ImageClassification"],
    "image-feature-extraction": [""],
    "image-segmentation": ["ImageSegmentation", "SemanticSegmentation", "InstanceSegmentation"],
    "image-text-to-text": ["ImageTextToText"],
    "image-to-image": ["ImageToImage"],
    "image-to-text": ["ImageTextToText", "Vision2Seq"],
    "keypoint-matching": ["KeypointMatching"],
    "mask-generation": ["MaskGeneration"],
    "object-detection": ["ObjectDetection"],
    "question-answering": ["QuestionAnswering"],
    "sentence-similarity": [""],
    "summarization": ["Seq2SeqLM"],
    "table-question-answering": ["TableQuestionAnswering"],
    "text-classification": ["SequenceClassification"],
    "text-generation": ["CausalLM"],
    "text2text-generation": ["Seq2SeqLM"],
    "token-classification": ["TokenClassification"],
    "translation": ["Seq2SeqLM"],
    "video-classification": ["VideoClassification"],
    "visual-question-answering": ["VisualQuestionAnswering"],
    "zero-shot-image-classification": ["ZeroShotImageClassification"],
    "zero-shot-object-detection": ["ZeroShotObjectDetection"],
}


def resolve_transformers(name, options):
    transformers = import_transformers(name)
    torch.manual_seed(options.seed)  # a head without weights is initialised randomly
    model = load_model(name, model_classes(transformers, name, options.task)).float().eval()
    set_if_present(model.config, "use_cache", False)
    set_if_present(model.config, "return_dict", True)
    processor = image_processor(transformers, name) if options.needs_inputs else None
    return Source(
        model,
        example_inputs(model, processor) if options.needs_inputs else None,
        by_keyword=True,
        task=options.task,
        weights=name,
        processor=processor,
        packages=["transformers"],
    )


def import_transformers(name):
    try:
        import transformers
    except ImportError as error:
        raise ExportError(
            f"'{name}' is no torchvision/NAME and no FILE.py:FUNCTION; as a Hugging Face model it "
            f"needs transformers ({first_line(error)}): pip install transformers"
        ) from error
    if not sys.stderr.isatty():
        transformers.utils.logging.disable_progress_bar()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # it logs every attempt to connect
    return transformers


def model_classes(transformers, name, task):
    """The class that the configuration names, else those of the task."""
    if task and task not in TASKS:
        raise ExportError(f"--task {task}: expected one of {', '.join(TASKS)}")
    if os.path.isdir(name) and not os.path.exists(os.path.join(name, "config.json")):
        raise ExportError(
            f"{name} has no config.json; write the folder with save_pretrained, or export a function: "
            "FILE.py:FUNCTION"
        )
    if name.startswith((".", "/", "~")) and not os.path.isdir(name):
        raise ExportError(f"{name}: no such folder")
    try:
        config = transformers.AutoConfig.from_pretrained(name)
    except (OSError, ValueError) as error:
        missing = "" if os.path.exists(name) else "no such file or folder, and no Hugging Face model that can be had: "
        raise ExportError(missing + first_line(error)) from error
    named = [getattr(transformers, each, None) for each in config.architectures or []]
    if any(named):
        return [each for each in named if each]
    if not task:
        raise ExportError(
            "its configuration names no architecture; pass --task, such as image-classification"
        )
    found = [getattr(transformers, auto_class(suffix), None) for suffix in TASKS[task]]
    return [each for each in found if each]


def auto_class(suffix):
    return f"AutoModelFor{suffix}" if suffix else "AutoModel"


def load_model(name, classes):
    reasons = []
    for each in classes:
        try:
            return each.from_pretrained(name)
        except ValueError as error:  # the class does not fit this configuration: try the next
            reasons.append(first_line(error))
        except OSError as error:
            raise ExportError(first_line(error)) from error
    raise ExportError(reasons[-1])


def set_if_present(config, key, value):
    if hasattr(config, key):
        setattr(config, key, value)


def setting(config, key, default=None):
    """A value of the configuration, also of those inside it (`vision_config`, `text_config`)."""
    if getattr(config, key, None) is not None:
        return getattr(config, key)
    for inner in vars(config).values():
        if hasattr(inner, "to_dict") and getattr(inner, key, None) is not None:
            return getattr(inner, key)
    return default


def example_inputs(model, processor):
    """Text, images and sound of the sizes that the configuration, or the processor, tells."""
    config = model.config
    if setting(config, "vocab_size") and takes(model, "input_ids"):
        length = min(TOKENS, setting(config, "max_position_embeddings", TOKENS))
        inputs = {"input_ids": torch.randint(0, setting(config, "vocab_size"), (1, length))}
        if takes(model, "attention_mask"):
            inputs["attention_mask"] = torch.ones(1, length, dtype=torch.int64)
    else:
        inputs = {}
    size = setting(config, "image_size") or processed_size(processor)
    if size and takes(model, "pixel_values"):
        height, width = size if isinstance(size, (tuple, list)) else (size, size)
        inputs["pixel_values"] = torch.rand(1, setting(config, "num_channels", 3), height, width)
    if setting(config, "num_mel_bins") and takes(model, "input_features"):
        frames = 2 * setting(config, "max_source_positions", 1500)
        inputs["input_features"] = torch.rand(1, setting(config, "num_mel_bins"), frames)
    if inputs and takes(model, "decoder_input_ids"):
        inputs["decoder_input_ids"] = torch.zeros(1, 2, dtype=torch.int64)
    if not inputs:
        raise ExportError(
            f"its input '{model.main_input_name}' is neither text nor image nor sound; write a function that "
            "returns (model, example inputs) and export FILE.py:FUNCTION"
        )
    return inputs


def processed_size(processor):
    """Of the images that the processor makes; None if it does not say."""
    size = getattr(processor, "crop_size", None) or getattr(processor, "size", None)
    if size is None:
        return None
    if "height" in size:
        return size["height"], size["width"]
    return size.get("shortest_edge")


def takes(model, name):
    return name in inspect.signature(model.forward).parameters


def image_processor(transformers, name):
    try:
        return transformers.AutoImageProcessor.from_pretrained(name)
    except (OSError, ValueError, AttributeError, ImportError):  # the model has no image processor
        return None
