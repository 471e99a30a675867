#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace vernier {

// Whether a name has the form of an id on the Hugging Face hub: "timm/mini-imagenet".
bool is_hub_id(const std::string& name);

// Where Hugging Face's tools keep what they download: $HF_HUB_CACHE, $HF_HOME/hub,
// $XDG_CACHE_HOME/huggingface/hub or ~/.cache/huggingface/hub.
std::filesystem::path hub_cache();

// The snapshot of a dataset in the cache: that of `main`, or the only one. Throws Error with the
// command that downloads it when it is not there.
std::filesystem::path find_hub_dataset(const std::string& id);

// The snapshot of a model in the cache, chosen likewise; nothing when it is not there.
std::optional<std::filesystem::path> find_hub_model(const std::string& id);

}  // namespace vernier
