#include "store_access.h"

#include <string_view>

#include "content_tables.h"

namespace larder::site {

namespace {

std::string_view orEmpty(const char* text) noexcept {
  return text ? text : std::string_view{};
}

bool isForbiddenFunction(std::string_view name) noexcept {
  return name == "load_extension" || name == "fts3_tokenizer";
}

bool isRandomFunction(std::string_view name) noexcept {
  return name == "random" || name == "randomblob";
}

// Virtual tables ask for these.
bool isHarmlessPragma(int action, std::string_view pragma) noexcept {
  return action == SQLITE_PRAGMA && (pragma == "data_version" || pragma == "page_size");
}

bool isReading(int action) noexcept {
  return action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_FUNCTION ||
         action == SQLITE_RECURSIVE;
}

bool isChange(int action) noexcept {
  return action == SQLITE_INSERT || action == SQLITE_UPDATE || action == SQLITE_DELETE;
}

bool isSchemaTable(std::string_view table) noexcept {
  return table.starts_with("sqlite_");
}

}  // namespace

int ReadAccess::authorize(int action, const char* a, const char* b, const char* database,
                          const char*) noexcept {
  if (mode_ == Mode::own) return SQLITE_OK;
  if (!isReading(action))
    return mode_ == Mode::running && isHarmlessPragma(action, orEmpty(a)) ? SQLITE_OK : SQLITE_DENY;
  if (mode_ == Mode::running) return SQLITE_OK;
  if (action == SQLITE_FUNCTION) {
    if (isForbiddenFunction(orEmpty(b))) return SQLITE_DENY;
    collected_.random |= isRandomFunction(orEmpty(b));
    return SQLITE_OK;
  }
  if (action != SQLITE_READ) return SQLITE_OK;
  if (isHiddenTable(orEmpty(a)) || orEmpty(database) == "temp") return SQLITE_DENY;
  try {
    collected_.tables.emplace(orEmpty(a));
  } catch (...) {
    return SQLITE_DENY;
  }
  return SQLITE_OK;
}

int WriteAccess::authorize(int action, const char* a, const char* b, const char* database,
                           const char* accessor) noexcept {
  if (mode_ == Mode::own) return SQLITE_OK;
  const auto table = orEmpty(a);
  if (accessor) return SQLITE_OK;  // what a trigger does, or what a view reads
  if (action == SQLITE_FUNCTION) return isForbiddenFunction(orEmpty(b)) ? SQLITE_DENY : SQLITE_OK;
  if (mode_ == Mode::running)
    return isReading(action) || isChange(action) || isHarmlessPragma(action, table) ? SQLITE_OK
                                                                                    : SQLITE_DENY;
  if (action == SQLITE_READ) {
    const bool hidden = isHiddenTable(table) && !(mode_ == Mode::schema && isSchemaTable(table));
    return hidden ? SQLITE_DENY : SQLITE_OK;
  }
  if (isReading(action)) return SQLITE_OK;
  if (isChange(action)) {
    if (mode_ == Mode::schema && isSchemaTable(table)) return SQLITE_OK;
    return isHostTable(table) ? SQLITE_DENY : SQLITE_OK;
  }
  if (mode_ != Mode::schema || orEmpty(database) == "temp") return SQLITE_DENY;
  switch (action) {
    case SQLITE_CREATE_TABLE:
    case SQLITE_DROP_TABLE:
    case SQLITE_CREATE_VTABLE:
    case SQLITE_DROP_VTABLE:
    case SQLITE_CREATE_VIEW:
    case SQLITE_DROP_VIEW:
      return isHostTable(table) ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_CREATE_INDEX:
    case SQLITE_DROP_INDEX:
    case SQLITE_DROP_TRIGGER:
    case SQLITE_ALTER_TABLE:
      return isHostTable(orEmpty(b)) ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_CREATE_TRIGGER:
      return isHostTable(orEmpty(b)) || isHiddenTable(table) ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_REINDEX:
      return SQLITE_OK;
    default:
      return isHarmlessPragma(action, table) ? SQLITE_OK : SQLITE_DENY;
  }
}

}  // namespace larder::site
