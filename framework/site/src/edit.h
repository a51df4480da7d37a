// EditTransaction: larder::Edit inside one write transaction of the store. The ledger's log is
// written by the triggers, so nothing here has to know what depends on what.
#pragma once

#include "larder/app.h"
#include "store_writer.h"

namespace larder::site {

class EditTransaction final : public Edit {
 public:
  explicit EditTransaction(WriteTransaction& transaction) : t_(transaction) {}

  ObjectPtr open(std::string_view path) override;
  void create(const Object& object) override;
  void update(const Object& object, std::int64_t expected_revision) override;
  void remove(std::string_view path) override;
  void move(std::string_view from, std::string_view to) override;
  Document execute(std::string_view sql, const Arguments& arguments) override;
  std::int64_t lastInsertId() override { return last_insert_id_; }
  void invalidateTag(std::string_view tag) override;

 private:
  [[nodiscard]] sqlite::Statement& own(std::string_view sql);
  [[nodiscard]] bool exists(std::string_view path);
  void requireParent(std::string_view path);
  /// That what is below `from` has paths which are not too long below `to`.
  void checkLongestBelow(std::string_view from, std::string_view to);
  void setTags(std::string_view path, const Object& object);

  WriteTransaction& t_;
  std::int64_t last_insert_id_ = 0;
};

}  // namespace larder::site
