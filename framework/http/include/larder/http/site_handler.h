// SiteHandler: answers HTTP requests from a site: hits on the reactor, all else on workers.
#pragma once

#include "larder/http/handler.h"
#include "larder/site/site.h"

namespace larder::http {

/// For SiteOptions::finish. A private page is not compressed: it may hold a secret (a CSRF token)
/// beside what a visitor sent, and its compressed length would tell about it (BREACH). Throws
/// std::runtime_error, naming the header, when a page has one that must not be sent.
void finishSitePage(Page& page, bool is_private);

/// Thread-safe. Borrows the site, which outlives it.
class SiteHandler final : public Handler {
 public:
  explicit SiteHandler(site::Site& site) noexcept : site_(site) {}

  Fast tryFast(const Request& request, Response& response) noexcept override;
  void tryTogether(std::span<Attempt> attempts) noexcept override;
  void handle(const Request& request, Response& response, Finding* finding) noexcept override;

 private:
  site::Site& site_;
};

}  // namespace larder::http
