#include <cstring>

#include "state_impl.h"

namespace larder::site {

namespace {

/// As they lie in memory: the file is read where it was written.
std::string packed(const std::vector<ScopeId>& scopes) {
  return {reinterpret_cast<const char*>(scopes.data()), scopes.size() * sizeof(ScopeId)};
}

std::vector<ScopeId> unpacked(std::string_view bytes) {
  std::vector<ScopeId> scopes(bytes.size() / sizeof(ScopeId));
  if (!scopes.empty()) std::memcpy(scopes.data(), bytes.data(), scopes.size() * sizeof(ScopeId));
  return scopes;
}

}  // namespace

void State::notePublished(std::span<PublishedPage> pages) {
  impl_->database.write([&](auto& db) {
    for (auto& page : pages) {
      page.id = 0;
      const bool unsettled =
          db("SELECT 1 FROM published WHERE key = ?1 AND settled = 0").run(page.key).next();
      if (unsettled) continue;
      auto row = db("INSERT INTO published(key, as_of, era, schema, revision, expires, settled, "
                    "scopes) VALUES(?1, ?2, ?3, ?4, ?5, ?6, 0, ?7) RETURNING id")
                     .run(page.key, page.stamp.as_of, page.stamp.era, page.stamp.schema,
                          page.revision, page.expires, sqlite::Bytes{packed(page.scopes)});
      if (row.next()) page.id = row.integer(0);
    }
  });
}

void State::settlePublished(std::span<const std::int64_t> ids) {
  if (ids.empty()) return;
  impl_->database.write([&](auto& db) {
    for (const auto id : ids) {
      db("UPDATE published SET settled = 1 WHERE id = ?1").execute(id);
      db("DELETE FROM published WHERE key = (SELECT key FROM published WHERE id = ?1) "
         "AND id < ?1 AND settled = 1")
          .execute(id);
    }
  });
}

void State::forgetPublished(std::span<const std::int64_t> ids) {
  if (ids.empty()) return;
  impl_->database.write([&](auto& db) {
    for (const auto id : ids) db("DELETE FROM published WHERE id = ?1").execute(id);
  });
}

void State::forgetExpired(std::int64_t seconds) {
  const bool any = impl_->database.read([&](auto& db) {
    return db("SELECT 1 FROM published WHERE expires < ?1 LIMIT 1").run(seconds).next();
  });
  if (!any) return;
  impl_->database.write(
      [&](auto& db) { db("DELETE FROM published WHERE expires < ?1").execute(seconds); });
}

std::vector<PublishedPage> State::published(std::int64_t after, std::size_t limit) {
  return impl_->database.read([&](auto& db) {
    std::vector<PublishedPage> pages;
    auto rows = db("SELECT id, key, as_of, era, schema, revision, expires, settled, scopes "
                   "FROM published WHERE id > ?1 ORDER BY id LIMIT ?2")
                    .run(after, static_cast<std::int64_t>(limit));
    while (rows.next()) {
      pages.push_back({.id = rows.integer(0),
                       .key = std::string(rows.text(1)),
                       .stamp = {.as_of = static_cast<std::uint64_t>(rows.integer(2)),
                                 .era = static_cast<std::uint64_t>(rows.integer(3)),
                                 .schema = static_cast<std::uint64_t>(rows.integer(4))},
                       .scopes = unpacked(rows.text(8)),
                       .revision = static_cast<std::uint64_t>(rows.integer(5)),
                       .expires = rows.integer(6),
                       .settled = rows.integer(7) != 0});
    }
    return pages;
  });
}

}  // namespace larder::site
