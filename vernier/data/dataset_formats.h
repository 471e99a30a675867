#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "vernier/data/dataset.h"
#include "vernier/tensor/tensor.h"

// The formats behind open_dataset.
namespace vernier {

// Whether the path is hidden, or the __MACOSX folder that macOS adds to archives.
bool is_ignored(const std::filesystem::path& path);

// The wanted files in the folder and in its subfolders, sorted, without ignored ones.
std::vector<std::filesystem::path> files_below(
    const std::filesystem::path& folder,
    bool (*is_wanted)(const std::filesystem::directory_entry& entry));
std::unique_ptr<Dataset> open_image_folder(const std::filesystem::path& folder,
                                           const DatasetOptions& options);

bool is_idx_name(const std::filesystem::path& path);
// `images` is a file of images or its folder.
std::unique_ptr<Dataset> open_idx(const std::filesystem::path& images,
                                  const DatasetOptions& options);

std::unique_ptr<Dataset> open_npz(const std::filesystem::path& path, const DatasetOptions& options);

// The output of Hugging Face's save_to_disk(): a folder with dataset_dict.json and one folder per
// split, or a folder of .arrow files. open_arrow() also takes a single .arrow file.
bool is_arrow_folder(const std::filesystem::path& folder);
std::unique_ptr<Dataset> open_arrow(const std::filesystem::path& path,
                                    const DatasetOptions& options);

// Ids show `files` relative to `root`.
std::unique_ptr<Dataset> open_parquet(std::vector<std::filesystem::path> files,
                                      const std::filesystem::path& root,
                                      const DatasetOptions& options);

// Reads a uint8 array of any rank from a file in MNIST's IDX format, gzipped or not. The size in
// the header is checked against the file's size before memory is allocated.
Tensor read_idx(const std::filesystem::path& path);

}  // namespace vernier
