#include "larder/http/site_handler.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "larder/http/page_head.h"

namespace larder::http {

namespace {

class HttpRequestView final : public site::RequestView {
 public:
  explicit HttpRequestView(const Request& request) noexcept : request_(request) {}

  [[nodiscard]] std::string_view method() const noexcept override { return request_.methodName(); }
  [[nodiscard]] std::string_view rawPath() const noexcept override { return request_.path(); }
  [[nodiscard]] std::string_view rawQuery() const noexcept override { return request_.query(); }
  [[nodiscard]] std::string_view authority() const noexcept override {
    return request_.authority();
  }
  [[nodiscard]] bool secure() const noexcept override { return request_.secure(); }
  [[nodiscard]] std::optional<std::string_view> header(
      std::string_view name) const noexcept override {
    return request_.header(name);
  }
  [[nodiscard]] Fields headers() const override {
    Fields all;
    const auto& head = request_.head();
    for (std::size_t i = 0; i < head.fieldCount(); ++i)
      all.emplace_back(head.fieldName(i), head.fieldValue(i));
    return all;
  }
  [[nodiscard]] cache::ParamStatus readCookies(cache::Params& cookies) const override {
    return request_.readCookies(cookies);
  }
  [[nodiscard]] std::string_view body() const noexcept override { return request_.body(); }
  [[nodiscard]] std::string peer() const override { return request_.peer().host(); }

 private:
  const Request& request_;
};

/// A line's value, put together without allocation.
class Text {
 public:
  Text& operator<<(std::string_view text) noexcept {
    const auto n = std::min(text.size(), sizeof buffer_ - size_);
    std::copy_n(text.data(), n, buffer_ + size_);
    size_ += n;
    return *this;
  }
  Text& operator<<(std::int64_t number) noexcept {
    const auto [end, error] = std::to_chars(buffer_ + size_, buffer_ + sizeof buffer_, number);
    if (error == std::errc()) size_ = static_cast<std::size_t>(end - buffer_);
    return *this;
  }
  [[nodiscard]] std::string_view view() const noexcept { return {buffer_, size_}; }

 private:
  char buffer_[160];
  std::size_t size_ = 0;
};

/// What a look-up together with others got for a request.
struct FirstLook final : Finding {
  explicit FirstLook(RequestMemo&& got) : memo(std::move(got)) {}
  RequestMemo memo;
};

/// RFC 9211.
void addCacheStatus(const site::Reply& reply, Response& response) {
  Text text;
  text << "Larder";
  switch (reply.outcome) {
    case Outcome::hit:
    case Outcome::hit_stale:
      text << "; hit";
      break;
    case Outcome::coalesced:
      text << "; fwd=uri-miss; collapsed";
      break;
    case Outcome::bypass:
      text << "; fwd=bypass";
      break;
    case Outcome::miss_expired:
    case Outcome::miss_changed:
    case Outcome::miss_history:
      text << "; fwd=stale";
      break;
    default:
      text << "; fwd=uri-miss";
  }
  const bool hit = reply.outcome == Outcome::hit || reply.outcome == Outcome::hit_stale;
  if (!hit && reply.stored) text << "; stored";
  if (reply.stored && reply.ttl != kForever) text << "; ttl=" << reply.ttl / 1000;
  response.addHeader("Cache-Status", text.view());
}

void addFreshness(const site::Reply& reply, Response& response) {
  if (reply.cacheable) addCacheStatus(reply, response);
  if (reply.stored) response.addHeader("Age", (Text() << reply.age / 1000).view());
  if (reply.is_private) response.addHeader("Cache-Control", "private");
  for (const auto& name : reply.vary) response.addHeader("Vary", name);
}

void answer(const Request& request, site::Reply& reply, Response& response) {
  const PageView page = reply.content();
  Holder holder = reply.entry ? Holder(std::move(reply.entry)) : Holder(std::move(reply.page));
  answerWithPage(request, page, std::move(holder), response);
  addFreshness(reply, response);
}

}  // namespace

void finishSitePage(Page& page, bool is_private) {
  const auto done = finishPage(page, {.compress = !is_private});
  if (!done) throw std::runtime_error(done.error().message);
}

Fast SiteHandler::tryFast(const Request& request, Response& response) noexcept try {
  if (request.method() != Method::get && request.method() != Method::head) return Fast::ask;
  const HttpRequestView view(request);
  site::Reply reply;
  switch (site_.tryFast(view, reply)) {
    case site::Quick::hit:
      answer(request, reply, response);
      return Fast::answered;
    case site::Quick::gather:
      return Fast::gather;
    case site::Quick::ask:
      break;
  }
  return Fast::ask;
} catch (...) {
  return Fast::ask;
}

void SiteHandler::tryTogether(std::span<Attempt> attempts) noexcept try {
  std::vector<HttpRequestView> views;
  views.reserve(attempts.size());
  std::vector<site::Gathered> gathered(attempts.size());
  for (std::size_t i = 0; i < attempts.size(); ++i)
    gathered[i].request = &views.emplace_back(attempts[i].request);
  site_.tryTogether(gathered);
  for (std::size_t i = 0; i < attempts.size(); ++i) {
    if (gathered[i].hit) {
      answer(attempts[i].request, gathered[i].reply, attempts[i].response);
      attempts[i].answered = true;
    } else {
      attempts[i].finding = std::make_unique<FirstLook>(std::move(gathered[i].memo));
    }
  }
} catch (...) {
  // Those that have no answer yet are handled one by one.
  for (Attempt& attempt : attempts)
    if (!attempt.answered) attempt.response.clear();
}

void SiteHandler::handle(const Request& request, Response& response, Finding* finding) noexcept
    try {
  const HttpRequestView view(request);
  site::Reply reply;
  auto* first_look = static_cast<FirstLook*>(finding);
  site_.handle(view, reply, first_look != nullptr ? &first_look->memo : nullptr);
  answer(request, reply, response);
} catch (...) {
  response.clear();
  response.setStatus(500);
}

}  // namespace larder::http
