// Messages that must be refused, as raw bytes: one table for the parser and for the live server.
#pragma once

#include <string>
#include <vector>

namespace larder::http::test {

struct MalformedMessage {
  std::string name;  // begins with the fault that it belongs to
  std::string bytes;
  int status;
};

/// Decided by the head alone.
const std::vector<MalformedMessage>& malformedHeads();
/// With a head that is well formed and a chunked body that is not.
const std::vector<MalformedMessage>& malformedChunks();

}  // namespace larder::http::test
