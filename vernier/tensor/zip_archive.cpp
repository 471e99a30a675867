#include "vernier/tensor/zip_archive.h"

#include <fmt/format.h>
#include <zip.h>

#include "vernier/error.h"

namespace vernier {
namespace {

// A deflate stream spends at least two bits on a match of at most 258 bytes.
constexpr std::uint64_t max_deflate_ratio = std::uint64_t{258} * 4;

zip_t* open_archive(const std::filesystem::path& path) {
  int code = 0;
  if (zip_t* archive = zip_open(path.c_str(), ZIP_RDONLY, &code)) return archive;
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const std::string reason = zip_error_strerror(&error);
  zip_error_fini(&error);
  throw Error(fmt::format("[npz] {}: expected a zip archive, found: {}", path.string(), reason));
}

// Why the member cannot be read, empty if it can: its sizes must be ones that the file could hold.
std::string refusal(const zip_stat_t& stat, std::uint64_t file_size) {
  constexpr zip_uint64_t needed =
      ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  if ((stat.valid & needed) != needed) return "expected sizes and a method, found none";
  if (stat.encryption_method != ZIP_EM_NONE) return "expected plain data, found it encrypted";
  const bool is_deflated = stat.comp_method == ZIP_CM_DEFLATE;
  if (!is_deflated && stat.comp_method != ZIP_CM_STORE)
    return fmt::format("expected stored or deflated data, found compression method {}",
                       stat.comp_method);
  if (stat.comp_size > file_size)
    return fmt::format("compressed size: expected at most the file's {} bytes, found {}", file_size,
                       stat.comp_size);
  const std::uint64_t most = is_deflated ? stat.comp_size * max_deflate_ratio : stat.comp_size;
  if (stat.size > most)
    return fmt::format("size: expected at most {} bytes from {} compressed, found {}", most,
                       stat.comp_size, stat.size);
  return {};
}

}  // namespace

void ZipMemberReader::Close::operator()(zip_file* file) const { zip_fclose(file); }
void ZipArchive::Discard::operator()(zip* archive) const { zip_discard(archive); }

ZipMemberReader::ZipMemberReader(zip* archive, std::uint64_t index, std::int64_t size,
                                 std::string subject)
    : size_(size), subject_(std::move(subject)), file_(zip_fopen_index(archive, index, 0)) {
  if (!file_) fail(zip_strerror(archive));
}

void ZipMemberReader::read(std::span<std::byte> out) {
  while (!out.empty()) {
    const zip_int64_t count = zip_fread(file_.get(), out.data(), out.size());
    if (count < 0) fail(zip_file_strerror(file_.get()));
    if (count == 0) fail(fmt::format("the end, {} bytes early", out.size()));
    out = out.subspan(static_cast<std::size_t>(count));
  }
}

void ZipMemberReader::expect_end() {
  std::byte extra;
  const zip_int64_t count = zip_fread(file_.get(), &extra, 1);  // where libzip checks the checksum
  if (count < 0) fail(zip_file_strerror(file_.get()));
  if (count > 0) fail("more");
}

void ZipMemberReader::fail(std::string_view found) const {
  throw Error(fmt::format("[npz] {}: expected {} bytes, found: {}", subject_, size_, found));
}

ZipArchive::ZipArchive(std::filesystem::path path)
    : path_(std::move(path)), archive_(open_archive(path_)) {
  const zip_int64_t count = zip_get_num_entries(archive_.get(), 0);
  for (zip_uint64_t i = 0; i < static_cast<zip_uint64_t>(count); ++i) {
    const char* name = zip_get_name(archive_.get(), i, ZIP_FL_ENC_RAW);
    if (!name)
      throw Error(
          fmt::format("[npz] {}: member {}: {}", path_.string(), i, zip_strerror(archive_.get())));
    members_.push_back({i, name});
  }
}

ZipMemberReader ZipArchive::open(const ZipMember& member) const {
  const std::string subject = fmt::format("{}: '{}'", path_.string(), member.name);
  zip_stat_t stat;
  const bool is_found = zip_stat_index(archive_.get(), member.index, 0, &stat) == 0;
  const std::string problem =
      is_found ? refusal(stat, std::filesystem::file_size(path_)) : zip_strerror(archive_.get());
  if (!problem.empty()) throw Error(fmt::format("[npz] {}: {}", subject, problem));
  return {archive_.get(), member.index, static_cast<std::int64_t>(stat.size), subject};
}

}  // namespace vernier
