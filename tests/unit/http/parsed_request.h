// A request head for tests of what reads heads.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "larder/http/head_parser.h"
#include "larder/http/request.h"

namespace larder::http::test {

class ParsedRequest {
 public:
  /// `fields`: lines with their line ends.
  explicit ParsedRequest(const std::string& fields, const std::string& method = "GET")
      : bytes_(method + " /x HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n"),
        request_(head_, {}, peer_, false) {
    HeadParser parser;
    if (parser.parse(bytes_, head_) != ParseStatus::complete) {
      throw std::invalid_argument(bytes_);
    }
  }
  ParsedRequest(const ParsedRequest&) = delete;
  ParsedRequest& operator=(const ParsedRequest&) = delete;

  [[nodiscard]] const RequestHead& head() const { return head_; }
  [[nodiscard]] const Request& request() const { return request_; }

 private:
  std::string bytes_;
  RequestHead head_;
  PeerAddress peer_;
  Request request_;
};

}  // namespace larder::http::test
