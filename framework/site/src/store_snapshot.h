// The snapshot of one render: ReadSnapshot over a pooled connection.
#pragma once

#include <memory>

#include "larder/site/store.h"
#include "store_reader.h"

namespace larder::site {

class StoreSnapshot final : public ReadSnapshot {
 public:
  /// `reader` has begun. `owner` keeps `readers` alive.
  StoreSnapshot(std::shared_ptr<void> owner, Readers& readers, std::unique_ptr<Reader> reader,
                const Clock& clock, Millis limit);
  ~StoreSnapshot() override;

  [[nodiscard]] Stamp stamp() const noexcept override { return stamp_; }
  ObjectPtr object(std::string_view path, ScopeSink& sink) override;
  std::vector<ObjectPtr> children(std::string_view path, const ChildrenQuery& query,
                                  ScopeSink& sink) override;
  std::size_t countChildren(std::string_view path, const ChildrenQuery& query,
                            ScopeSink& sink) override;
  Document row(std::string_view table, std::int64_t id, ScopeSink& sink) override;
  Document query(std::string_view sql, const Arguments& arguments, ScopeSink& sink,
                 const QueryLimits& limits) override;

 private:
  void startReading();
  void startReadingObjects(ScopeSink& sink);
  [[nodiscard]] sqlite::Rows runChildren(std::string_view columns, std::string_view path,
                                         const ChildrenQuery& query, std::string_view rest);

  std::shared_ptr<void> owner_;
  Readers& readers_;
  std::unique_ptr<Reader> reader_;
  const Clock& clock_;
  Millis limit_;
  Millis deadline_;
  Stamp stamp_;
};

}  // namespace larder::site
