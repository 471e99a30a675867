#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace vernier {

// Whether a name has the form of an id on the Hugging Face hub: "timm/mini-imagenet".
bool is_hub_id(const std::string& name);

// The download cache of Hugging Face's tools: $HF_HUB_CACHE, $HF_HOME/hub,
// $XDG_CACHE_HOME/huggingface/hub or ~/.cache/huggingface/hub.
std::filesystem::path hub_cache();

// The snapshot of a dataset in the cache: that of `main`, else the only one. Throws Error with the
// command that downloads the dataset if it is not cached.
std::filesystem::path find_hub_dataset(const std::string& id);

// The snapshot of a model in the cache, chosen as for a dataset; nullopt if it is not cached or
// `id` is not a hub id.
std::optional<std::filesystem::path> find_hub_model(const std::string& id);

}  // namespace vernier
