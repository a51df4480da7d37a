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
                   CompletionQueue& completions, Millis started_in, bool gathers,
                   std::size_t& total)
    : connection(connection_in),
      started(started_in),
      charge_(total, head.size() + body.size()),
      head_(head),
      peer_(peer),
      request_(head_, {}, peer_, secure, &cancelled_),
      handler_(handler),
      completions_(completions) {
  gathers_ = gathers;
  bytes_.reserve(head.size() + body.size());
  bytes_.append(head.base(), head.size()).append(body);
  head_.rebase(bytes_.data());
  request_ =
      Request(head_, std::string_view(bytes_).substr(head.size()), peer_, secure, &cancelled_);
}

void Exchange::run() noexcept {
  handler_.handle(request_, response_, finding_.get());
  complete();
}

void Exchange::runTogether(std::span<Job* const> jobs, WorkerPool& pool) noexcept {
  std::vector<Attempt> attempts;
  attempts.reserve(jobs.size());
  for (Job* job : jobs) {
    auto& exchange = static_cast<Exchange&>(*job);
    attempts.push_back({exchange.request_, exchange.response_});
  }
  handler_.tryTogether(attempts);
  // An exchange that is complete, or given back, may be gone at once. They go back last first, each
  // to the head of the queue.
  Exchange* own = nullptr;
  for (std::size_t i = jobs.size(); i-- > 0;) {
    auto& exchange = static_cast<Exchange&>(*jobs[i]);
    exchange.finding_ = std::move(attempts[i].finding);
    if (attempts[i].answered) {
      exchange.complete();
      continue;
    }
    if (own != nullptr) pool.giveBack(*own);
    own = &exchange;
  }
  if (own != nullptr) own->run();
}

void Exchange::complete() noexcept {
  // What it borrows from this thread must outlive this call.
  response_.makeDurable();
  completions_.push(*this);
}

}  // namespace larder::http
