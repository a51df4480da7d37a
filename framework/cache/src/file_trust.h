// Whether somebody other than root and the server's user could change a file or directory.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

namespace larder {

/// Who could change it and what to do about that; nothing when it is safe. `self` is the user that
/// the server runs as.
[[nodiscard]] inline std::optional<std::string> changeableByOthers(const std::string& path,
                                                                   const struct stat& info,
                                                                   uid_t self) {
  if (info.st_uid != 0 && info.st_uid != self)
    return path + " belongs to user " + std::to_string(info.st_uid) +
           ", who could change what the server runs: give it by chown to root or to the user of "
           "the server (" +
           std::to_string(self) + ")";
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return path + " can be written by its group or by everybody: run chmod go-w " + path;
  return std::nullopt;
}

}  // namespace larder
