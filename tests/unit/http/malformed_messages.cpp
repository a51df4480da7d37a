#include "malformed_messages.h"

namespace larder::http::test {
namespace {

using namespace std::string_literals;

std::string get(const std::string& fields) {
  return "GET /x HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n";
}

std::string post(const std::string& fields, const std::string& body) {
  return "POST /x HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n" + body;
}

std::string chunked(const std::string& body) {
  return post("Transfer-Encoding: chunked\r\n", body);
}

std::string line(const std::string& request_line) {
  return request_line + "\r\nHost: h\r\n\r\n";
}

std::string host(const std::string& fields) {
  return "GET /x HTTP/1.1\r\n" + fields + "\r\n";
}

std::string manyFields(int count) {
  std::string fields;
  for (int i = 0; i < count; ++i) fields += "X-" + std::to_string(i) + ": v\r\n";
  return fields;
}

}  // namespace

const std::vector<MalformedMessage>& malformedHeads() {
  static const std::vector<MalformedMessage> kTable = {
      {"A03_TwoLengths", post("Content-Length: 3\r\nContent-Length: 4\r\n", "abc"), 400},
      {"A03_TwoEqualLengths", post("Content-Length: 3\r\nContent-Length: 3\r\n", "abc"), 400},
      {"A03_LengthWithPlus", post("Content-Length: +3\r\n", "abc"), 400},
      {"A03_LengthWithMinus", post("Content-Length: -1\r\n", ""), 400},
      {"A03_LengthList", post("Content-Length: 0,3\r\n", "abc"), 400},
      {"A03_EqualLengthList", post("Content-Length: 3, 3\r\n", "abc"), 400},
      {"A03_LengthWithLetter", post("Content-Length: 3x\r\n", "abc"), 400},
      {"A03_LengthInHex", post("Content-Length: 0x3\r\n", "abc"), 400},
      {"A03_LengthOf20Digits", post("Content-Length: 00000000000000000003\r\n", "abc"), 400},
      {"A03_LengthThatOverflows", post("Content-Length: 18446744073709551619\r\n", "abc"), 400},
      {"A03_LengthWithSpace", post("Content-Length: 1 2\r\n", "abc"), 400},
      {"A03_LengthEmpty", post("Content-Length:\r\n", "abc"), 400},
      {"A03_LengthQuoted", post("Content-Length: \"3\"\r\n", "abc"), 400},
      {"A03_LengthAndChunked",
       post("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n"), 400},
      {"A03_ChunkedAndLength",
       post("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n", "3\r\nabc\r\n0\r\n\r\n"), 400},
      {"A03_UnknownCoding", post("Transfer-Encoding: xchunked\r\n", "abc"), 501},
      {"A03_Identity", post("Transfer-Encoding: identity\r\n", "abc"), 501},
      {"A03_GzipThenChunked", post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 501},
      {"A03_GzipThenChunkedInTwoLines",
       post("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 501},
      {"A03_ChunkedThenGzip", post("Transfer-Encoding: chunked, gzip\r\n", "0\r\n\r\n"), 400},
      {"A03_ChunkedTwice", post("Transfer-Encoding: chunked, chunked\r\n", "0\r\n\r\n"), 400},
      {"A03_ChunkedTwiceInTwoLines",
       post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
      {"A03_ChunkedWithParameter", post("Transfer-Encoding: chunked;a=b\r\n", "0\r\n\r\n"), 400},
      {"A03_ChunkedQuoted", post("Transfer-Encoding: \"chunked\"\r\n", "0\r\n\r\n"), 400},
      {"A03_ChunkedAfterVerticalTab",
       post("Transfer-Encoding: \x0B"
            "chunked\r\n",
            "0\r\n\r\n"),
       400},
      {"A03_CodingEmpty", post("Transfer-Encoding:\r\n", "abc"), 400},
      {"A03_CodingOfCommas", post("Transfer-Encoding: ,\r\n", "abc"), 400},
      {"A03_CodingInHttp10",
       "POST /x HTTP/1.0\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400},

      {"A07_SpaceBeforeColon", get("X-A : b\r\n"), 400},
      {"A07_TabBeforeColon", get("X-A\t: b\r\n"), 400},
      {"A07_SpaceBeforeLengthColon", post("Content-Length : 3\r\n", "abc"), 400},
      {"A07_EmptyName", get(": b\r\n"), 400},
      {"A07_NoColon", get("X-A\r\n"), 400},
      {"A07_NulInValue", get("X-A: a\0b\r\n"s), 400},
      {"A07_NulInName", get("X\0A: b\r\n"s), 400},
      {"A07_ControlInValue",
       get("X-A: a\x01"
           "b\r\n"),
       400},
      {"A07_DeleteInValue", get("X-A: aaaaaaaa\x7F\r\n"), 400},
      {"A07_EscapeInValue", get("X-A: \x1B[2J and more text\r\n"), 400},
      {"A07_CarriageReturnInValue", get("X-A: a\rb\r\n"), 400},
      {"A07_CarriageReturnBeforeEnd", get("X-A: a\r\r\n"), 400},
      {"A07_ControlInName", get("X\x01: b\r\n"), 400},
      {"A07_ByteBeyondAsciiInName", get("X\xC3\xA9: b\r\n"), 400},
      {"A07_ParenthesisInName", get("X(): b\r\n"), 400},
      {"A07_FoldedLine", get("X-A: a\r\n b\r\n"), 400},
      {"A07_FoldedCoding", post("X-A: a\r\n Transfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400},
      {"A07_FoldedWithTab", get("X-A: a\r\n\tb\r\n"), 400},
      {"A07_FoldBeforeFirstField", host(" X-A: a\r\nHost: h\r\n"), 400},
      {"A07_BareLineFeed", "GET /x HTTP/1.1\nHost: h\n\n", 400},
      {"A07_BareLineFeedInFields", get("X-A: a\nX-B: b\r\n"), 400},
      {"A07_BareLineFeedAtEnd", "GET /x HTTP/1.1\r\nHost: h\r\n\n", 400},

      {"A10_NoHost", host("X-A: b\r\n"), 400},
      {"A10_NoHostWithAbsoluteTarget", "GET http://h/x HTTP/1.1\r\n\r\n", 400},
      {"A10_TwoHosts", host("Host: a\r\nHost: b\r\n"), 400},
      {"A10_TwoEqualHosts", host("Host: a\r\nHost: a\r\n"), 400},
      {"A10_TwoHostsInHttp10", "GET /x HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", 400},
      {"A10_EmptyHost", host("Host:\r\n"), 400},
      {"A10_HostWithSpace", host("Host: a b\r\n"), 400},
      {"A10_HostWithPath", host("Host: a/b\r\n"), 400},
      {"A10_HostWithUser", host("Host: u@a\r\n"), 400},
      {"A10_HostList",
       host("Host: a, b\r\n"
            "Host: c\r\n"),
       400},
      {"A10_HostWithBadPort", host("Host: a:b\r\n"), 400},
      {"A10_HostWithLargePort", host("Host: a:65536\r\n"), 400},
      {"A10_HostWithTwoPorts", host("Host: a:1:2\r\n"), 400},
      {"A10_HostOfPortAlone", host("Host: :80\r\n"), 400},
      {"A10_HostWithOpenBracket", host("Host: [::1\r\n"), 400},
      {"A10_HostWithBadAddress", host("Host: [::g]\r\n"), 400},
      {"A10_HostWithBadEscape", host("Host: a%zz\r\n"), 400},
      {"A10_HostBeyondAscii", host("Host: \xC3\xA9\r\n"), 400},
      {"A10_HostWithQuery", host("Host: a?b\r\n"), 400},
      {"A10_TargetWithUser", line("GET http://u@h/x HTTP/1.1"), 400},
      {"A10_TargetWithoutHost", line("GET http:///x HTTP/1.1"), 400},
      {"A10_TargetWithBadHost", line("GET http://a b/x HTTP/1.1"), 400},
      {"A10_TargetOfOtherScheme", line("GET ftp://h/x HTTP/1.1"), 400},
      {"A10_TargetWithoutSlash", line("GET x HTTP/1.1"), 400},
      {"A10_StarWithGet", line("GET * HTTP/1.1"), 400},
      {"A10_Connect", line("CONNECT h:80 HTTP/1.1"), 501},

      {"A11_VersionFoo", line("GET /a FOO"), 400},
      {"A11_VersionTooHigh", line("GET /a HTTP/9.9"), 505},
      {"A11_VersionTwo", line("GET /a HTTP/2.0"), 505},
      {"A11_VersionZero", line("GET /a HTTP/0.9"), 505},
      {"A11_SpaceInTarget", line("GET /a b HTTP/1.1"), 400},
      {"A11_NoVersion", line("GET /a"), 400},
      {"A11_VersionInLowerCase", line("GET /a http/1.1"), 400},
      {"A11_VersionTooShort", line("GET /a HTTP/1"), 400},
      {"A11_VersionTooLong", line("GET /a HTTP/1.10"), 400},
      {"A11_SpaceAfterVersion", line("GET /a HTTP/1.1 "), 400},
      {"A11_TwoSpaces", line("GET  /a HTTP/1.1"), 400},
      {"A11_TabsForSpaces", line("GET\t/a\tHTTP/1.1"), 400},
      {"A11_SpaceBeforeMethod", line(" GET /a HTTP/1.1"), 400},
      {"A11_BadMethod", line("G(T /a HTTP/1.1"), 400},
      {"A11_ControlInTarget", line("GET /a\x01 HTTP/1.1"), 400},
      {"A11_NulInTarget", line("GET /a\0b HTTP/1.1"s), 400},
      {"A11_FragmentInTarget", line("GET /a#b HTTP/1.1"), 400},
      {"A11_CarriageReturnInTarget", line("GET /a\rb HTTP/1.1"), 400},
      {"A11_ThreeEmptyLines", "\r\n\r\n\r\n" + line("GET /a HTTP/1.1"), 400},
      {"A11_Nothing", "\n", 400},

      {"A12_LongRequestLine", line("GET /" + std::string(17000, 'a') + " HTTP/1.1"), 414},
      {"A12_LongQuery", line("GET /?" + std::string(17000, 'a') + " HTTP/1.1"), 414},
      {"A12_LongField", get("X-A: " + std::string(40000, 'a') + "\r\n"), 431},
      {"A12_ManyFields", get(manyFields(101)), 431},
      {"A12_LargeBody", post("Content-Length: 10737418240\r\n", ""), 413},
      {"A12_UnknownExpectation", post("Expect: 200-ok\r\nContent-Length: 1\r\n", "a"), 417},
  };
  return kTable;
}

const std::vector<MalformedMessage>& malformedChunks() {
  static const std::vector<MalformedMessage> kTable = {
      {"A06_MinusSize", chunked("-1\r\nabc\r\n0\r\n\r\n"), 400},
      {"A06_MinusThree", chunked("-3\r\nabc\r\n0\r\n\r\n"), 400},
      {"A06_PlusSize", chunked("+1\r\na\r\n0\r\n\r\n"), 400},
      {"A06_HexPrefix", chunked("0x1\r\na\r\n0\r\n\r\n"), 400},
      {"A06_Underscore", chunked("1_0\r\n0123456789abcdef\r\n0\r\n\r\n"), 400},
      {"A06_LeadingSpace", chunked(" 1\r\na\r\n0\r\n\r\n"), 400},
      {"A06_TrailingSpace", chunked("1 \r\na\r\n0\r\n\r\n"), 400},
      {"A06_TrailingTab", chunked("1\t\r\na\r\n0\r\n\r\n"), 400},
      {"A06_NoHexDigit", chunked("g\r\na\r\n0\r\n\r\n"), 400},
      {"A06_EmptySize", chunked("\r\na\r\n0\r\n\r\n"), 400},
      {"A06_ExtensionAlone", chunked(";a=b\r\na\r\n0\r\n\r\n"), 400},
      {"A06_17Digits", chunked("00000000000000001\r\na\r\n0\r\n\r\n"), 400},
      {"A06_20Digits", chunked("ffffffffffffffffffff\r\na\r\n0\r\n\r\n"), 400},
      {"A06_16DigitsTooLarge", chunked("ffffffffffffffff\r\na\r\n0\r\n\r\n"), 413},
      {"A06_NoLineEndAfterData", chunked("1\r\nab0\r\n\r\n"), 400},
      {"A06_BareLineFeedAfterData", chunked("1\r\na\n0\r\n\r\n"), 400},
      {"A06_BareLineFeedAfterSize", chunked("1\na\r\n0\r\n\r\n"), 400},
      {"A06_BareLineFeedAfterExtension", chunked("1;a=b\na\r\n0\r\n\r\n"), 400},
      {"A06_ControlInExtension", chunked("1;a=\x01\r\na\r\n0\r\n\r\n"), 400},
      {"A06_CarriageReturnInExtension", chunked("1;a=\rb\r\na\r\n0\r\n\r\n"), 400},
      {"A06_64KExtension", chunked("1;" + std::string(65536, 'a') + "\r\na\r\n0\r\n\r\n"), 400},
      {"A06_BadTrailer", chunked("0\r\nX T: 1\r\n\r\n"), 400},
      {"A06_FoldedTrailer", chunked("0\r\nX-T: 1\r\n 2\r\n\r\n"), 400},
      {"A06_LongTrailers", chunked("0\r\nX-T: " + std::string(9000, 'a') + "\r\n\r\n"), 431},
      {"A12_EndlessChunks", chunked("400000\r\n"), 413},
  };
  return kTable;
}

}  // namespace larder::http::test
