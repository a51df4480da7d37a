// RequestContext: what view code sees, recording everything it reads.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "larder/app.h"
#include "larder/cache/engine.h"
#include "page_call.h"

namespace larder::site {

class RequestContext final : public RenderContext {
 public:
  RequestContext(Site& site, const PageCall& call, const Document& arguments, CallContext& context,
                 Recorder& recorder)
      : RequestContext(site, call.state(), *call.route(), arguments, context, recorder) {}
  RequestContext(Site& site, RequestState& state, const Route& route, const Document& arguments,
                 CallContext& context, Recorder& recorder);

  std::optional<std::string_view> param(std::string_view name) override;
  std::vector<std::string_view> paramAll(std::string_view name) override;
  std::vector<std::pair<std::string_view, std::string_view>> params() override;
  std::optional<std::string_view> header(std::string_view name) override;
  std::optional<std::string_view> cookie(std::string_view name) override;
  std::string_view origin() override;
  const User* user() override;
  bool hasRole(std::string_view role) override;
  std::optional<std::string_view> session(std::string_view name) override;
  std::string csrfToken() override;
  const Node& arg(std::size_t index) override;
  Millis now() override;
  std::uint64_t random() override;
  std::string_view pathVariable(std::string_view name) override;
  std::string_view path() override;
  std::string_view viewName() override;
  std::string_view appPath() override;

  ObjectPtr object() override;
  ObjectPtr open(std::string_view path) override;
  std::vector<ObjectPtr> children(std::string_view path, const ChildrenQuery& query) override;
  std::size_t countChildren(std::string_view path, const ChildrenQuery& query) override;
  Document row(std::string_view table, std::int64_t id) override;
  Document query(std::string_view sql, const Arguments& arguments,
                 const QueryLimits& limits) override;
  Document acquire(std::string_view property) override;

  Value call(std::string_view path, std::string_view view,
             std::span<const Tree> arguments) override;
  Document sql(std::string_view name, const Arguments& arguments) override;

  void tag(std::string_view name) override;
  void maxAge(Millis limit) override;
  void expiresAt(Millis wall) override;
  void noStore(std::string_view reason) override;

 private:
  [[nodiscard]] ReadSnapshot& snapshot();
  /// Throws RenderTimeout.
  void checkTime() const;
  /// Records the reading of an input, and says how the view sees it; null: as it came.
  const Normaliser* read(const std::string& input);
  [[nodiscard]] std::optional<std::string_view> simplified(const Normaliser* normaliser,
                                                           std::optional<std::string_view> value);
  [[nodiscard]] Value callRoute(std::string_view path, std::string_view view, Document arguments);
  /// A view that goes on after what it reads has failed shows what it would not show another time.
  /// That somebody may not see it is no failure: it follows from what was recorded.
  template <class Read>
  decltype(auto) reading(Read&& read) {
    try {
      checkTime();
      return read();
    } catch (const HttpError&) {
      throw;
    } catch (...) {
      recorder_.refuse("goes on although something that it reads has failed");
      throw;
    }
  }

  Site& site_;
  RequestState& state_;
  const Route& route_;
  const Document& arguments_;
  CallContext& context_;
  Recorder& recorder_;
  std::deque<std::string> simplified_;  ///< what views were shown instead of the request's text
};

}  // namespace larder::site
