#include "vernier/tensor/temporary_folder.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <string>
#include <system_error>

#include "vernier/error.h"

namespace vernier {

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "vernier-XXXXXX").string();
  if (!mkdtemp(name.data()))
    throw Error(fmt::format("[file] {}: no temporary folder can be made; set TMPDIR", name));
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace vernier
