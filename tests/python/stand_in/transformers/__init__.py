"""Stands in for transformers in the tests: the same interface, models of a few weights. A "hub"
holds a few of them."""

from collections import OrderedDict
from types import SimpleNamespace

from torch import nn

utils = SimpleNamespace(logging=SimpleNamespace(disable_progress_bar=lambda: None))


class Config:
    def __init__(self, **values):
        self.use_cache = True
        self.return_dict = False
        self.architectures = None
        self.__dict__.update(values)

    def to_dict(self):
        return dict(self.__dict__)


HUB = {
    "tiny/text": Config(model_type="text", vocab_size=11, max_position_embeddings=8),
    "tiny/image": Config(
        model_type="image", vision_config=Config(image_size=6, num_channels=1), use_cache=False
    ),
    "tiny/audio": Config(model_type="audio"),
    "tiny/known": Config(
        model_type="image", architectures=["ImageModel"], image_size=6, num_channels=1
    ),
}


class ModelOutput(OrderedDict):
    pass


class Model(nn.Module):
    @classmethod
    def from_pretrained(cls, name):
        return cls(HUB[name]).eval()


class TextModel(Model):
    main_input_name = "input_ids"

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embedding = nn.Embedding(11, 4)
        self.head = nn.Linear(4, 3)

    def forward(self, input_ids=None, attention_mask=None, labels=None):
        assert self.config.return_dict and not self.config.use_cache
        hidden = self.embedding(input_ids) * attention_mask.unsqueeze(-1)
        return ModelOutput(logits=self.head(hidden), last_hidden_state=hidden)


class ImageModel(Model):
    main_input_name = "pixel_values"

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.conv = nn.Conv2d(1, 2, 3)

    def forward(self, pixel_values):
        return ModelOutput(logits=self.conv(pixel_values).mean((2, 3)))


class AudioModel(ImageModel):
    main_input_name = "input_values"

    def forward(self, input_values):
        return ModelOutput(logits=input_values)


def auto_class(kinds):
    class AutoModel:
        @classmethod
        def from_pretrained(cls, name):
            if name not in HUB:
                raise OSError(f"{name} is not a local folder and is not a valid model identifier")
            config = HUB[name]
            if config.model_type not in kinds:
                raise ValueError("Unrecognized configuration class for this kind of AutoModel")
            return kinds[config.model_type](config).eval()

    return AutoModel


class AutoImageProcessor:
    def save_pretrained(self, folder):
        (folder / "preprocessor_config.json").write_text('{"do_resize": true}')

    @classmethod
    def from_pretrained(cls, name):
        if name != "tiny/image":
            raise OSError(f"{name} does not appear to have a preprocessor_config.json")
        return cls()


class AutoConfig:
    @classmethod
    def from_pretrained(cls, name):
        if name not in HUB:
            raise OSError(f"{name} is not a local folder and is not a valid model identifier")
        return HUB[name]


AutoModelForTokenClassification = auto_class({"text": TextModel})
AutoModelForImageClassification = auto_class({"image": ImageModel, "audio": AudioModel})
