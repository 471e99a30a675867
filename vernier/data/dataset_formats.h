#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "vernier/data/dataset.h"
#include "vernier/tensor/tensor.h"

// The formats behind open_dataset.
namespace vernier {

// Hidden files and folders, and what macOS puts into archives.
bool is_ignored(const std::filesystem::path& path);

bool is_image_name(const std::filesystem::path& path);
std::unique_ptr<Dataset> open_image_folder(const std::filesystem::path& folder,
                                           const DatasetOptions& options);

bool is_idx_name(const std::filesystem::path& path);
// `images` is a file of images, or the folder that has them.
std::unique_ptr<Dataset> open_idx(const std::filesystem::path& images,
                                  const DatasetOptions& options);

std::unique_ptr<Dataset> open_npz(const std::filesystem::path& path, const DatasetOptions& options);

// What Hugging Face's save_to_disk() writes: a folder with dataset_dict.json and a folder for each
// split, or a folder of .arrow files; or such a file.
bool is_arrow_folder(const std::filesystem::path& folder);
std::unique_ptr<Dataset> open_arrow(const std::filesystem::path& path,
                                    const DatasetOptions& options);

// `files` are shown relative to `root`.
std::unique_ptr<Dataset> open_parquet(std::vector<std::filesystem::path> files,
                                      const std::filesystem::path& root,
                                      const DatasetOptions& options);

// Reads a file in the IDX format of the MNIST database, gzipped or not: bytes of any rank. What the
// header claims is checked against the file's size first.
Tensor read_idx(const std::filesystem::path& path);

}  // namespace vernier
