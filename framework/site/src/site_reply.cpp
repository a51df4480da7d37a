// The form of an answer: of a result, of a page that was made, of an error.
#include <algorithm>
#include <charconv>

#include "request_state.h"
#include "site_internal.h"

namespace larder::site {

void Site::fill(Reply& reply, Answer answer, const Route& route) const {
  const auto& entry = *answer.entry;
  const auto now = options_.clock->monotonic();
  reply.cacheable = route.binding->manager != nullptr;
  reply.outcome = answer.outcome;
  reply.stored = answer.stored;
  // What not everybody may see, or not everybody sees alike, is not for caches on the way.
  reply.is_private = entry.is_private || !route.view->permission.empty();
  reply.age = std::max<Millis>(now - entry.lifetime.created, 0);
  const auto fresh_until = Engine::freshUntil(route.binding->policy, entry);
  reply.ttl = fresh_until == kForever ? kForever : fresh_until - now;
  for (const auto name : entry.inputs()) {
    const auto input = plainInput(name);
    reply.is_private |= input.starts_with("cookie");
    if (input.starts_with("header:")) reply.vary.emplace_back(input.substr(7));
  }
  reply.entry = std::move(answer.entry);
}

void Site::fillPage(Reply& reply, Page page, bool is_private) const {
  if (options_.finish) options_.finish(page, is_private);
  reply.page = page;
}

void Site::fillError(Reply& reply, int status, std::string_view message) const {
  reply.entry = EntryRef();
  fillPage(reply, errorPage(status, message));
}

void Site::fillBusy(Reply& reply, std::string_view why) const {
  reply.entry = EntryRef();
  Page page = errorPage(503, "The server is busy: " + std::string(why) + ".");
  page.setHeader("Retry-After", "1");
  fillPage(reply, std::move(page));
}

// The visitor gets a number, the log what happened.
void Site::fail(RequestState& state, Reply& reply, std::string_view what) noexcept try {
  std::uint64_t bits = 0;
  bits = hash64(std::to_string(options_.clock->wall()) + ":" +
                std::to_string(next_error_.fetch_add(1, std::memory_order_relaxed)));
  char text[17] = {};
  std::to_chars(text, text + 16, bits, 16);
  reply.error_id = text;
  options_.log(LogLevel::error,
               "error " + reply.error_id + ": " + std::string(state.request().method()) + " " +
                   std::string(state.request().rawPath()) + ": " + std::string(what));
  fillError(reply, 500,
            "Something went wrong on this page. The log has the details under the number " +
                reply.error_id + ".");
} catch (...) {
  reply.page = Page();
}

Page errorPage(int status, std::string_view message) {
  std::string escaped;
  for (const char c : message) {
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  Page page;
  page.status = status;
  page.setHeader("Content-Type", "text/html; charset=utf-8");
  const auto number = std::to_string(status);
  page.body = "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>" + number +
              "</title>\n<style>body{font:16px/1.5 "
              "system-ui,sans-serif;max-width:40rem;margin:4rem auto;padding:0 1rem}"
              "</style>\n<h1>" +
              number + "</h1>\n<p>" + escaped + "</p>\n</html>\n";
  return page;
}

}  // namespace larder::site
