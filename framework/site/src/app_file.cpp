#include "app_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "utf8.h"

namespace larder::site {
namespace {

constexpr std::uintmax_t kLargest = 4 * 1024 * 1024;

}  // namespace

Result<std::string> readAppFile(const std::string& folder, const std::string& file) {
  const std::filesystem::path relative(file);
  if (file.empty() || relative.is_absolute() ||
      std::any_of(relative.begin(), relative.end(), [](const auto& part) { return part == ".."; }))
    return Error{"file '" + file + "' is not below the app's folder"};
  const std::filesystem::path path = std::filesystem::path(folder) / relative;
  std::error_code failure;
  const auto size = std::filesystem::file_size(path, failure);
  if (failure) return Error{file + ": " + failure.message()};
  if (size > kLargest) return Error{file + ": larger than 4 MB"};
  std::ifstream in(path, std::ios::binary);
  if (!in) return Error{file + ": " + std::strerror(errno)};
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (in.bad()) return Error{file + ": " + std::strerror(errno)};
  if (const std::size_t valid = validUtf8(text); valid < text.size()) {
    const auto line =
        1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(valid), '\n');
    return Error{file + ":" + std::to_string(line) + ": not UTF-8"};
  }
  return text;
}

}  // namespace larder::site
