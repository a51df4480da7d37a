// The event loop, accepting and closing. What happens on one connection is in reactor_io.cpp.
#include "reactor.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace larder::http {
namespace {

constexpr std::uint64_t kListenerToken = std::numeric_limits<std::uint32_t>::max();
// Between two looks at connections that are open already.
constexpr int kAcceptsAtOnce = 64;
constexpr Millis kAcceptPause = 100;
constexpr Millis kLongestWait = 60'000;

std::uint64_t tokenOf(const Connection& c) {
  return (static_cast<std::uint64_t>(c.generation) << 32) | c.slot;
}

std::array<Millis, kDeadlineKinds> durationsOf(const ServerOptions& options) {
  std::array<Millis, kDeadlineKinds> durations{};
  const auto set = [&durations](DeadlineKind kind, Millis duration) {
    durations[static_cast<std::size_t>(kind)] = std::max<Millis>(duration, 1);
  };
  set(DeadlineKind::idle, options.idle_deadline);
  set(DeadlineKind::head, options.head_deadline);
  set(DeadlineKind::body, options.body_deadline);
  set(DeadlineKind::queue, options.queue_deadline);
  set(DeadlineKind::write, options.write_deadline);
  set(DeadlineKind::linger, options.linger_deadline);
  return durations;
}

}  // namespace

Reactor::Reactor(const ServerOptions& options, Handler& handler, const Clock& clock,
                 Listener& listener, WorkerPool& workers)
    : options_(options),
      handler_(handler),
      clock_(clock),
      listener_(listener),
      workers_(workers),
      poller_(makeEpollPoller()),
      completions_(*poller_),
      deadlines_(durationsOf(options)),
      max_connections_(std::max<std::size_t>(options.max_connections / options.reactors, 1)),
      input_budget_(options.input_budget / options.reactors),
      scratch_message_(options.limits) {}

Reactor::~Reactor() {
  // What workers finished after the loop had ended; its connections are closed.
  completions_.takeAll(finished_);
  for (Exchange* exchange : finished_) delete exchange;
}

void Reactor::request(Mode mode) noexcept {
  Mode current = requested_.load();
  while (current < mode && !requested_.compare_exchange_weak(current, mode)) {
  }
  poller_->wakeUp();
}

void Reactor::addTo(ServerStats& stats) const noexcept {
  stats.open_connections += open_.get();
  stats.accepted += accepted_.get();
  stats.requests += requests_.get();
  stats.fast_hits += fast_hits_.get();
  stats.refused += refused_.get();
  stats.overloaded += overloaded_.get();
  stats.idle_evicted += idle_evicted_.get();
  stats.accept_pauses += accept_pauses_.get();
  stats.bytes_sent += bytes_sent_.get();
}

void Reactor::run() {
  now_ = clock_.monotonic();
  date_line_.update(clock_.wall());
  resumeAccepting();
  for (;;) {
    const auto events = poller_->wait(waitTimeout());
    now_ = clock_.monotonic();
    date_line_.update(clock_.wall());
    for (const Poller::Event& event : events) dispatchEvent(event);
    finishExchanges();
    while (DeadlineNode* node = deadlines_.due(now_)) expire(*static_cast<Connection*>(node));
    if (accept_again_ <= now_) resumeAccepting();
    const Mode requested = requested_.load(std::memory_order_relaxed);
    if (requested != Mode::running) {
      if (mode_ == Mode::running) beginDraining();
      if (requested == Mode::stopping) {
        for (Connection& c : connections_) {
          if (c.state != Connection::State::closed) close(c);
        }
      }
      if (open_.get() == 0) return;
    }
    if (std::exchange(gathering_, false)) workers_.wake();
  }
}

int Reactor::waitTimeout() const noexcept {
  const Millis next = std::min(deadlines_.next(), accept_again_);
  if (next == kForever) return -1;
  // At least one: a coarse clock may show the old time for a while.
  return static_cast<int>(std::clamp<Millis>(next - now_, 1, kLongestWait));
}

void Reactor::dispatchEvent(const Poller::Event& event) {
  if (event.token == kListenerToken) {
    acceptConnections(kAcceptsAtOnce);
    return;
  }
  Connection* const c = find(event.token);
  if (c == nullptr) return;
  switch (c->state) {
    case Connection::State::closed:
      break;
    case Connection::State::reading:
      onReadable(*c);
      break;
    case Connection::State::working:
      // A reset shows at once, the end of the stream only when it is read. Until the answer is out
      // nothing is read, so there is no need to hear of more.
      if (event.hangup) {
        close(*c);
      } else {
        watch(*c, {});
      }
      break;
    case Connection::State::writing:
      if (event.hangup) {
        close(*c);
      } else {
        onWritable(*c);
      }
      break;
    case Connection::State::lingering:
      discardInput(*c);
      break;
  }
}

Connection* Reactor::find(std::uint64_t token) noexcept {
  Connection& c = connections_[static_cast<std::uint32_t>(token)];
  // False for an event that was waiting when its connection was closed.
  return c.generation == token >> 32 && c.state != Connection::State::closed ? &c : nullptr;
}

void Reactor::expire(Connection& c) {
  switch (c.kind) {
    case DeadlineKind::head:
      if (c.input.empty()) {
        close(c);
      } else if (refuse(c, 408, "the head did not arrive in time")) {
        settle(c);
      }
      break;
    case DeadlineKind::body:
      if (refuse(c, 408, "the body did not arrive in time")) settle(c);
      break;
    case DeadlineKind::queue:
      if (!workers_.withdraw(*c.exchange)) {
        // It runs, and takes as long as it takes; if its worker gives it back, it waits again.
        deadlines_.arm(c, DeadlineKind::queue, now_);
      } else {
        fillOverloaded(c.exchange->response());
        overloaded_.add();
        finishExchange(c);
      }
      break;
    case DeadlineKind::write:
      if (c.outgoing->sent_since_check >= options_.write_minimum) {
        c.outgoing->sent_since_check = 0;
        deadlines_.arm(c, DeadlineKind::write, now_);
      } else {
        reset(c);
      }
      break;
    case DeadlineKind::idle:
    case DeadlineKind::linger:
    case DeadlineKind::none:
      close(c);
      break;
  }
}

void Reactor::finishExchanges() {
  completions_.takeAll(finished_);
  for (Exchange* exchange : finished_) {
    if (exchange->connection != nullptr) {
      finishExchange(*exchange->connection);
    } else {
      delete exchange;
    }
  }
  finished_.clear();
}

void Reactor::beginDraining() {
  mode_ = Mode::draining;
  // Those who have connected already are not turned away: as many as can wait.
  if (accepting_) acceptConnections(options_.backlog);
  pauseAccepting();
  accept_again_ = kForever;
  listener_.leave();
  for (Connection& c : connections_) {
    if (c.state == Connection::State::reading && c.input.empty()) close(c);
  }
}

void Reactor::acceptConnections(int most) {
  for (int i = 0; i < most; ++i) {
    if (open_.get() >= max_connections_) {
      if (i > 0) return;  // whoever waits still waits at the next turn
      if (!makeRoom()) return pauseAccepting();
    }
    Listener::Accepted accepted;
    switch (listener_.accept(accepted)) {
      case Listener::Outcome::accepted:
        openConnection(accepted);
        break;
      case Listener::Outcome::none:
        return;
      case Listener::Outcome::exhausted:
        if (!makeRoom()) return pauseAccepting();
        break;
    }
  }
}

void Reactor::openConnection(const Listener::Accepted& accepted) {
  if (free_slots_.empty()) {
    Connection& fresh = connections_.emplace_back();
    fresh.slot = static_cast<std::uint32_t>(connections_.size() - 1);
    free_slots_.push_back(fresh.slot);
  }
  Connection& c = connections_[free_slots_.back()];
  free_slots_.pop_back();
  c.fd = accepted.fd;
  c.peer = accepted.peer;
  c.from_proxy = options_.proxies.contain(c.peer);
  c.state = Connection::State::reading;
  open_.add();
  accepted_.add();
  deadlines_.arm(c, DeadlineKind::head, now_);
  // The request has often arrived by now; an answer that closes the connection then needs no
  // poller.
  onReadable(c);
}

bool Reactor::makeRoom() {
  DeadlineNode* const longest = deadlines_.oldest(DeadlineKind::idle);
  if (longest == nullptr) return false;
  const Millis idle_since = longest->due - options_.idle_deadline;
  if (now_ - idle_since < options_.least_idle) return false;
  idle_evicted_.add();
  close(*static_cast<Connection*>(longest));
  return true;
}

void Reactor::pauseAccepting() {
  if (!accepting_) return;
  accepting_ = false;
  poller_->remove(listener_.fd());
  accept_again_ = now_ + kAcceptPause;
  accept_pauses_.add();
}

void Reactor::resumeAccepting() {
  if (accepting_ || mode_ != Mode::running) return;
  accepting_ = poller_->add(listener_.fd(), {.read = true, .exclusive = true}, kListenerToken);
  accept_again_ = accepting_ ? kForever : now_ + kAcceptPause;
}

void Reactor::close(Connection& c) {
  if (c.exchange != nullptr && !workers_.withdraw(*c.exchange)) {
    // A worker has it, or it is on its way back: finishExchanges() ends it.
    c.exchange->connection = nullptr;
    c.exchange->cancel();
    static_cast<void>(c.exchange.release());
  }
  c.exchange.reset();
  deadlines_.disarm(c);
  ::close(c.fd);
  c.fd = -1;
  ++c.generation;
  c.state = Connection::State::closed;
  c.registered = false;
  c.close_after_answer = false;
  c.linger = false;
  c.incoming.reset();
  c.outgoing.reset();
  std::string().swap(c.input);
  charge(c);
  free_slots_.push_back(c.slot);
  open_.subtract(1);
  if (accept_again_ != kForever) resumeAccepting();
}

// Closes so that the system forgets at once what was not sent.
void Reactor::reset(Connection& c) {
  const ::linger at_once{.l_onoff = 1, .l_linger = 0};
  ::setsockopt(c.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close(c);
}

bool Reactor::settle(Connection& c) {
  switch (c.state) {
    case Connection::State::closed:
      return false;
    case Connection::State::reading:
    case Connection::State::lingering:
      return watch(c, {.read = true});
    case Connection::State::working:
      return c.registered || watch(c, {.read = true});
    case Connection::State::writing:
      return watch(c, {.write = true});
  }
  return true;
}

bool Reactor::watch(Connection& c, Poller::Interest interest) {
  if (!c.registered) {
    if (!poller_->add(c.fd, interest, tokenOf(c))) {
      close(c);
      return false;
    }
    c.registered = true;
  } else if (!(c.interest == interest)) {
    poller_->modify(c.fd, interest, tokenOf(c));
  }
  c.interest = interest;
  return true;
}

}  // namespace larder::http
