// Reading the files of an app's folder.
#pragma once

#include <string>

#include "larder/result.h"

namespace larder::site {

/// The whole file `folder`/`file`, at most 4 MB of UTF-8 text; the error says what is wrong, with
/// the name as `file`. A name that leads out of the folder, by ".." or an absolute path, is
/// refused.
[[nodiscard]] Result<std::string> readAppFile(const std::string& folder, const std::string& file);

}  // namespace larder::site
