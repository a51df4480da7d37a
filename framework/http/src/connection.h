// Connection: the state of one client's connection. Data only; Reactor drives it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "deadlines.h"
#include "exchange.h"
#include "larder/http/chunked.h"
#include "larder/http/head_parser.h"
#include "larder/http/holder.h"
#include "larder/http/poller.h"
#include "larder/http/request.h"

namespace larder::http {

/// A message of which a part has been read.
struct IncomingMessage {
  explicit IncomingMessage(const ParserLimits& limits) : parser(limits) {}
  void reset() noexcept {
    parser.reset();
    head.clear();
    head_complete = false;
    continue_sent = false;
    decoder.reset();
    decoded.clear();
  }

  HeadParser parser;
  RequestHead head;
  bool head_complete = false;
  bool continue_sent = false;
  std::optional<ChunkedDecoder> decoder;  // of a chunked body
  std::string decoded;                    // what it yielded so far
};

/// What could not be written at once.
struct OutgoingAnswer {
  std::string head;  // what is left of it
  std::string own_body;
  Holder holder;
  std::string_view body;  // what is left of it; in own_body or kept alive by holder
  std::uint64_t sent_since_check = 0;
};

struct Connection : DeadlineNode {
  enum class State : std::uint8_t {
    closed,
    reading,    // idle, or in the middle of a message
    working,    // a worker has the request
    writing,    // the answer waits for room in the socket
    lingering,  // answered and shut down; what still comes is dropped
  };

  int fd = -1;
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;  // tells events of this connection from those of its predecessors
  State state = State::closed;
  bool registered = false;  // with the poller
  Poller::Interest interest;
  bool close_after_answer = false;
  bool linger = false;  // when closing after the answer
  PeerAddress peer;
  bool from_proxy = false;
  /// Read and not yet used: begins with the first byte of a message. Of a chunked message only the
  /// head is kept.
  std::string input;
  std::unique_ptr<IncomingMessage> incoming;  // null between messages
  std::size_t charged = 0;                    // what input and incoming take from the budget
  std::unique_ptr<Exchange> exchange;
  std::unique_ptr<OutgoingAnswer> outgoing;
};

}  // namespace larder::http
