// One connection: reading messages, having them answered, sending the answers.
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "reactor.h"

namespace larder::http {
namespace {

bool wouldBlock(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

// A body up to this size goes out in one piece with its head: copying it is cheaper than sending
// two.
constexpr std::size_t kCopiedBody = 4096;

iovec partOf(std::string_view text) {
  // sendmsg() only reads, but its type does not say so.
  return {const_cast<char*>(text.data()), text.size()};
}

ssize_t sendBoth(int fd, std::string_view head, std::string_view body) {
  if (body.empty()) return ::send(fd, head.data(), head.size(), MSG_NOSIGNAL);
  std::array<iovec, 2> parts{partOf(head), partOf(body)};
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  return ::sendmsg(fd, &message, MSG_NOSIGNAL);
}

// `host` is as the client wrote it, without the port.
bool isOwnHost(const std::vector<std::string>& names, std::string_view host) {
  if (names.empty()) return true;
  return std::any_of(names.begin(), names.end(), [host](std::string_view name) {
    if (!name.starts_with('*')) return equalsIgnoringCase(host, name);
    name.remove_prefix(1);  // the dot stays: "*.a.org" is no name for a.org itself
    return host.size() > name.size() &&
           equalsIgnoringCase(host.substr(host.size() - name.size()), name);
  });
}

// What a text takes beside itself.
std::size_t bytesOf(const std::string& text) {
  static const std::size_t kWithin = std::string().capacity();
  return text.capacity() > kWithin ? text.capacity() : 0;
}

// Takes up to `size` bytes off the front and reduces `size` by as many.
void takeFront(std::string_view& text, std::size_t& size) {
  const std::size_t taken = std::min(size, text.size());
  text.remove_prefix(taken);
  size -= taken;
}

}  // namespace

bool Reactor::onReadable(Connection& c) {
  const ssize_t size = ::recv(c.fd, buffer_.data(), buffer_.size(), 0);
  if (size == 0) return onEndOfInput(c);
  if (size < 0) {
    if (wouldBlock(errno)) return settle(c);
    close(c);
    return false;
  }
  std::string_view data(buffer_.data(), static_cast<std::size_t>(size));
  if (!c.input.empty()) {
    c.input.append(data);
    data = c.input;
  }
  return process(c, data) && settle(c);
}

bool Reactor::onEndOfInput(Connection& c) {
  if (c.incoming != nullptr && c.incoming->head_complete) {
    return refuse(c, 400, "the body ended before its length") && settle(c);
  }
  close(c);
  return false;
}

// `data` begins with the first byte of a message and lies in the input or in the read buffer.
bool Reactor::process(Connection& c, std::string_view data) {
  while (!data.empty() && c.state == Connection::State::reading) {
    CompleteMessage message;
    const ParseStatus status = readMessage(c, data, message);
    if (status == ParseStatus::incomplete) break;
    if (status == ParseStatus::failed) return refuse(c, failure_.status, failure_.reason);
    const std::string_view rest = data.substr(message.size);
    c.linger = !rest.empty();
    if (!serve(c, message)) return false;
    c.incoming.reset();
    data = rest;
  }
  // A connection that lingers has no use for more input.
  if (c.state == Connection::State::lingering) data = {};
  return keepInput(c, data);
}

// Incomplete: `data` is cut to what has to be kept.
ParseStatus Reactor::readMessage(Connection& c, std::string_view& data, CompleteMessage& message) {
  if (c.incoming == nullptr) scratch_message_.reset();
  IncomingMessage& in = c.incoming != nullptr ? *c.incoming : scratch_message_;
  if (!in.head_complete) {
    const ParseStatus status = in.parser.parse(data, in.head);
    if (status == ParseStatus::failed) failure_ = in.parser.failure();
    if (status == ParseStatus::incomplete) {
      keepIncoming(c);
      if (c.kind == DeadlineKind::idle) deadlines_.arm(c, DeadlineKind::head, now_);
    }
    if (status != ParseStatus::complete) return status;
    in.head_complete = true;
    if (in.head.framing() == Framing::chunked) in.decoder.emplace(options_.limits.body);
  }
  in.head.rebase(data.data());
  message.head = &in.head;
  const bool starts_body = data.size() > in.head.size();
  const ParseStatus status = readBody(in, data, message);
  if (status == ParseStatus::incomplete) {
    const bool wants_continue = in.head.expectsContinue() && !in.continue_sent && !starts_body;
    keepIncoming(c);
    c.incoming->continue_sent = true;
    if (c.kind != DeadlineKind::body) deadlines_.arm(c, DeadlineKind::body, now_);
    // Nothing else is on its way out, so these few bytes find room.
    constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    if (wants_continue) ::send(c.fd, kContinue.data(), kContinue.size(), MSG_NOSIGNAL);
  }
  return status;
}

ParseStatus Reactor::readBody(IncomingMessage& in, std::string_view& data,
                              CompleteMessage& message) {
  const std::size_t head_size = in.head.size();
  const std::string_view rest = data.substr(head_size);
  switch (in.head.framing()) {
    case Framing::none:
      message.size = head_size;
      return ParseStatus::complete;
    case Framing::length: {
      const auto length = static_cast<std::size_t>(in.head.contentLength());
      if (rest.size() < length) return ParseStatus::incomplete;
      message.body = rest.substr(0, length);
      message.size = head_size + length;
      return ParseStatus::complete;
    }
    case Framing::chunked: {
      std::size_t used = 0;
      const ParseStatus status = in.decoder->decode(rest, in.decoded, used);
      if (status == ParseStatus::failed) failure_ = in.decoder->failure();
      if (status == ParseStatus::incomplete) data = data.substr(0, head_size);
      message.body = in.decoded;
      message.size = head_size + used;
      return status;
    }
  }
  return ParseStatus::failed;
}

// The message outgrows the buffer that all connections share.
void Reactor::keepIncoming(Connection& c) {
  if (c.incoming != nullptr) return;
  c.incoming = std::make_unique<IncomingMessage>(std::move(scratch_message_));
  scratch_message_ = IncomingMessage(options_.limits);
}

bool Reactor::keepInput(Connection& c, std::string_view data) {
  if (data.empty()) {
    // An idle connection keeps no memory.
    if (!c.input.empty()) std::string().swap(c.input);
  } else if (c.input.empty()) {
    c.input.assign(data);
  } else {
    // A part of the input: what comes before it has been used.
    c.input.erase(0, static_cast<std::size_t>(data.data() - c.input.data()));
    c.input.resize(data.size());
  }
  charge(c);
  if (input_charged_ <= input_budget_ || c.charged == 0 || c.state != Connection::State::reading)
    return true;
  overloaded_.add();
  return refuse(c, 503, "too many requests are being received");
}

void Reactor::charge(Connection& c) {
  std::size_t now = bytesOf(c.input);
  if (c.incoming != nullptr) now += sizeof *c.incoming + bytesOf(c.incoming->decoded);
  input_charged_ += now - c.charged;
  c.charged = now;
}

// For a copy of the message, in whose place the connection will have nothing.
bool Reactor::hasRoomFor(const Connection& c, const CompleteMessage& message) const noexcept {
  return input_charged_ - c.charged + message.head->size() + message.body.size() <= input_budget_;
}

bool Reactor::serve(Connection& c, const CompleteMessage& message) {
  requests_.add();
  const PeerAddress client =
      c.from_proxy ? clientBehind(options_.proxies, c.peer, *message.head) : c.peer;
  const Request request(*message.head, message.body, client, options_.secure);
  if (!isOwnHost(options_.hosts, request.host())) {
    fillErrorPage(scratch_response_, 421, "this server is not the one of that host name");
    return answerAtOnce(c, request);
  }
  const Fast fast = handler_.tryFast(request, scratch_response_);
  if (fast == Fast::answered) {
    fast_hits_.add();
    return answerAtOnce(c, request, true);
  }
  scratch_response_.clear();
  if (hasRoomFor(c, message)) {
    c.exchange = std::make_unique<Exchange>(&c, *message.head, message.body, client,
                                            options_.secure, handler_, completions_, now_,
                                            fast == Fast::gather, input_charged_);
    if (workers_.submit(*c.exchange)) {
      gathering_ |= fast == Fast::gather;
      c.state = Connection::State::working;
      deadlines_.arm(c, DeadlineKind::queue, now_);
      return true;
    }
    c.exchange.reset();
  }
  overloaded_.add();
  fillOverloaded(scratch_response_);
  return answerAtOnce(c, request);
}

// With what is in the scratch response.
bool Reactor::answerAtOnce(Connection& c, const Request& request, bool fast) {
  const bool open = answer(c, request, scratch_response_, fast, now_);
  scratch_response_.clear();
  return open;
}

// The exchange has its response: sends it and goes on with what has been read meanwhile.
bool Reactor::finishExchange(Connection& c) {
  const std::unique_ptr<Exchange> exchange = std::move(c.exchange);
  c.state = Connection::State::reading;
  if (!answer(c, exchange->request(), exchange->response(), false, exchange->started)) return false;
  return process(c, c.input) && settle(c);
}

bool Reactor::answer(Connection& c, const Request& request, Response& response, bool fast,
                     Millis started) {
  if (response.broken()) {
    fillErrorPage(response, 500, "the answer had a header that must not be sent");
  }
  const bool keep_alive =
      request.head().keepAlive() && !response.closesConnection() && mode_ == Mode::running;
  c.close_after_answer = !keep_alive;
  // A client that means to go on may be sending its next request.
  if (request.head().keepAlive()) c.linger = true;
  const std::size_t body_size =
      sendsBody(request.method(), response.status()) ? response.body().size() : 0;
  const Sent sent = transmit(c, request.method(), request.head().minorVersion(), response);
  handler_.served(request, {.status = response.status(),
                            .body_bytes = body_size,
                            .fast = fast,
                            .duration = now_ - started});
  return answerSent(c, sent);
}

bool Reactor::refuse(Connection& c, int status, std::string_view reason) {
  refused_.add();
  c.incoming.reset();
  std::string().swap(c.input);
  charge(c);
  c.close_after_answer = true;
  c.linger = true;
  fillErrorPage(scratch_response_, status, reason);
  const Sent sent = transmit(c, Method::get, 1, scratch_response_);
  scratch_response_.clear();
  handler_.refused(c.peer, status, reason);
  return answerSent(c, sent);
}

bool Reactor::answerSent(Connection& c, Sent sent) {
  if (sent == Sent::pending) {
    c.state = Connection::State::writing;
    deadlines_.arm(c, DeadlineKind::write, now_);
    return true;
  }
  // The answer may have been on its way when draining began.
  if (mode_ != Mode::running) c.close_after_answer = true;
  if (sent == Sent::failed || (c.close_after_answer && !c.linger)) {
    close(c);
    return false;
  }
  if (c.close_after_answer) {
    c.state = Connection::State::lingering;
    ::shutdown(c.fd, SHUT_WR);
    deadlines_.arm(c, DeadlineKind::linger, now_);
    return true;
  }
  c.state = Connection::State::reading;
  deadlines_.arm(c, DeadlineKind::idle, now_);
  return true;
}

// Sends what the socket takes; the rest goes into the connection's outgoing answer.
Reactor::Sent Reactor::transmit(Connection& c, Method method, int minor_version,
                                Response& response) {
  scratch_head_.assign(response.storedHead());
  appendHead(scratch_head_, response,
             {.date_line = date_line_.text(),
              .minor_version = minor_version,
              .keep_alive = !c.close_after_answer});
  std::string_view body =
      sendsBody(method, response.status()) ? response.body() : std::string_view();
  if (body.size() <= kCopiedBody) {
    scratch_head_.append(body);
    body = {};
  }
  std::string_view head = scratch_head_;

  const ssize_t result = sendBoth(c.fd, head, body);
  if (result < 0 && !wouldBlock(errno)) return Sent::failed;
  std::size_t sent = result < 0 ? 0 : static_cast<std::size_t>(result);
  bytes_sent_.add(sent);
  if (sent == head.size() + body.size()) return Sent::all;

  auto out = std::make_unique<OutgoingAnswer>();
  takeFront(head, sent);
  out->head = head;
  if (!body.empty()) {
    response.makeDurable();
    out->holder = response.takeHolder();
    out->own_body = response.takeOwnBody();
    out->body = out->own_body.empty() ? body : std::string_view(out->own_body);
    takeFront(out->body, sent);
  }
  c.outgoing = std::move(out);
  return Sent::pending;
}

bool Reactor::onWritable(Connection& c) {
  OutgoingAnswer& out = *c.outgoing;
  const ssize_t result = sendBoth(c.fd, out.head, out.body);
  if (result < 0) {
    if (wouldBlock(errno)) return true;
    close(c);
    return false;
  }
  std::size_t sent = static_cast<std::size_t>(result);
  bytes_sent_.add(sent);
  out.sent_since_check += sent;
  const std::size_t of_head = std::min(sent, out.head.size());
  out.head.erase(0, of_head);
  sent -= of_head;
  takeFront(out.body, sent);
  if (!out.head.empty() || !out.body.empty()) return true;

  c.outgoing.reset();
  if (!answerSent(c, Sent::all)) return false;
  return process(c, c.input) && settle(c);
}

void Reactor::discardInput(Connection& c) {
  // With this flag TCP drops what it has instead of copying it.
  const ssize_t size = ::recv(c.fd, nullptr, 1024 * 1024UL, MSG_TRUNC);
  if (size == 0 || (size < 0 && !wouldBlock(errno))) close(c);
}

}  // namespace larder::http
