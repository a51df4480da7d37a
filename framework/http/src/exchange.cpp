#include "exchange.h"

namespace larder::http {

void CompletionQueue::push(Exchange& exchange) {
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    first = finished_.empty();
    finished_.push_back(&exchange);
  }
  // Those that follow are taken with the first.
  if (first) poller_.wakeUp();
}

void CompletionQueue::takeAll(std::vector<Exchange*>& taken) {
  taken.clear();
  const std::lock_guard lock(mutex_);
  taken.swap(finished_);
}

Exchange::Exchange(Connection* connection_in, const RequestHead& head, std::string_view body,
                   const PeerAddress& peer, bool secure, Handler& handler,
                   CompletionQueue& completions, Millis started_in)
    : connection(connection_in),
      started(started_in),
      head_(head),
      peer_(peer),
      request_(head_, {}, peer_, secure, &cancelled_),
      handler_(handler),
      completions_(completions) {
  bytes_.reserve(head.size() + body.size());
  bytes_.append(head.base(), head.size()).append(body);
  head_.rebase(bytes_.data());
  request_ =
      Request(head_, std::string_view(bytes_).substr(head.size()), peer_, secure, &cancelled_);
}

void Exchange::run() noexcept {
  handler_.handle(request_, response_);
  // What it borrows from this thread must outlive this call.
  response_.makeDurable();
  completions_.push(*this);
}

}  // namespace larder::http
