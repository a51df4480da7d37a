// Named arguments of an app's statement.
#pragma once

#include "larder/view.h"
#include "sqlite.h"

namespace larder::site::sqlite {

/// Binds `:name` (also `@name`, `$name`) by name and nameless arguments to the other parameters in
/// order, then starts a run. Throws StoreError for a parameter that has no argument, or a nameless
/// argument without a parameter.
[[nodiscard]] Rows runWith(Statement& statement, const Arguments& arguments);

}  // namespace larder::site::sqlite
