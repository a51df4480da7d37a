#include "app_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "larder/key.h"
#include "utf8.h"

namespace larder::site {
namespace {

constexpr std::uint64_t kLargest = std::uint64_t{4} * 1024 * 1024;
/// File times come from the kernel's tick: two edits within this may have the same one.
constexpr std::int64_t kTick = 50'000'000;  // ns

std::int64_t nanoseconds(const timespec& time) {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

/// Errno of what went wrong, or 0.
int readAll(const std::string& path, std::string& text) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return errno;
  text.assign(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  return in.bad() ? EIO : 0;
}

}  // namespace

SeenFile SeenFile::look(std::string path) {
  SeenFile file;
  file.path = std::move(path);
  struct stat found {};
  if (::stat(file.path.c_str(), &found) != 0) return file;
  file.modified = nanoseconds(found.st_mtim);
  file.size = static_cast<std::uint64_t>(found.st_size);
  file.inode = found.st_ino;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  file.fresh = nanoseconds(now) - file.modified < kTick;
  return file;
}

bool SeenFile::changed() {
  SeenFile now = look(path);
  if (now.modified != modified || now.size != size || now.inode != inode) return true;
  if (!fresh) return false;
  std::string text;
  if (readAll(path, text) != 0 || hash64(text) != hash) return true;
  fresh = now.fresh;
  return false;
}

Result<std::string> AppFiles::read(const std::string& file) {
  const std::filesystem::path relative(file);
  if (file.empty() || relative.is_absolute() ||
      std::any_of(relative.begin(), relative.end(), [](const auto& part) { return part == ".."; }))
    return Error{"file '" + file + "' is not below the app's folder"};
  // Looked at before it is read: an edit in between shows as a change later.
  SeenFile seen =
      SeenFile::look((std::filesystem::path(folder_) / relative).lexically_normal().string());
  std::string text;
  int failure = seen.size > kLargest ? EFBIG : readAll(seen.path, text);
  seen.hash = hash64(text);
  const bool known = std::any_of(seen_.begin(), seen_.end(),
                                 [&](const SeenFile& other) { return other.path == seen.path; });
  if (!known) seen_.push_back(std::move(seen));
  if (failure == EFBIG) return Error{file + ": larger than 4 MB"};
  if (failure != 0) return Error{file + ": " + std::strerror(failure)};
  if (const std::size_t valid = validUtf8(text); valid < text.size()) {
    const auto line =
        1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(valid), '\n');
    return Error{file + ":" + std::to_string(line) + ": not UTF-8"};
  }
  return text;
}

}  // namespace larder::site
