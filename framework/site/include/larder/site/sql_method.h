// SQL methods: one read-only statement in a file, with typed parameters; a view that gives a list
// of maps.
//
//   -- param: section text
//   -- param: limit integer = 20
//   -- rows: 100
//   -- timeout: 500ms
//   SELECT path, title FROM page WHERE section = :section ORDER BY title LIMIT :limit
//
// Types are text, integer, real and boolean (true, false, 1, 0). A parameter without default is
// required; `= null` makes it optional. More rows or time than said (default 1000 rows, 2s) is an
// error, not a shorter list.
//
// Called by another view's sql(name, {limit = 5}), it takes those arguments, by call() in the order
// of the parameters, and without any from the request's parameters of the same names. Whatever is
// missing or cannot be converted is answered with status 400, naming the parameter.
#pragma once

#include <memory>
#include <string>

#include "larder/result.h"
#include "larder/view.h"

namespace larder::site {

struct SqlSource {
  std::string name;  ///< as messages show it: "sql/recent.sql"
  std::string text;
};

/// Checks that it is one statement that begins like a reading one, and that parameters and
/// statement agree; errors name file and line. (That it only reads is enforced by the store.)
[[nodiscard]] Result<std::shared_ptr<View>> makeSqlMethod(SqlSource source);

}  // namespace larder::site
