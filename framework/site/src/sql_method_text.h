// A SQL method's file, taken apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "larder/document.h"
#include "larder/result.h"
#include "larder/view.h"

namespace larder::site {

enum class SqlType : std::uint8_t { text, integer, real, boolean };

struct SqlParameter {
  std::string name;
  SqlType type = SqlType::text;
  std::optional<Tree> fallback;  ///< converted
};

struct SqlText {
  std::vector<SqlParameter> parameters;
  QueryLimits limits;
  std::string statement;  ///< without header and semicolon
};

/// A value in the notation of the type, as a request's parameter has it.
[[nodiscard]] std::optional<Tree> convertSqlText(SqlType type, std::string_view text);
[[nodiscard]] std::string_view sqlTypeName(SqlType type);

/// Errors name file and line.
[[nodiscard]] Result<SqlText> parseSqlText(const std::string& name, std::string_view text);

}  // namespace larder::site
