#include "larder/http/accept_encoding.h"

#include <gtest/gtest.h>

#include <string>

#include "parsed_request.h"

namespace larder::http {
namespace {

struct Negotiation {
  std::string field;
  Coding both;  // what is sent when there are a gzip and a zstd form
  Coding gzip;  // when there is a gzip form only
};

class AcceptEncoding : public testing::TestWithParam<Negotiation> {};

TEST_P(AcceptEncoding, FaultA25_DecidesTheCoding) {
  const AcceptedCodings accepted = acceptedCodings(GetParam().field);
  EXPECT_EQ(accepted.best({.gzip = true, .zstd = true}), GetParam().both);
  EXPECT_EQ(accepted.best({.gzip = true, .zstd = false}), GetParam().gzip);
  EXPECT_EQ(accepted.best({}), Coding::identity);
}

constexpr auto kPlain = Coding::identity;
constexpr auto kGzip = Coding::gzip;
constexpr auto kZstd = Coding::zstd;

INSTANTIATE_TEST_SUITE_P(
    All, AcceptEncoding,
    testing::Values(
        Negotiation{"", kPlain, kPlain}, Negotiation{"gzip", kGzip, kGzip},
        Negotiation{"GZip", kGzip, kGzip}, Negotiation{"x-gzip", kGzip, kGzip},
        Negotiation{"gzip, deflate, br, zstd", kZstd, kGzip}, Negotiation{"zstd", kZstd, kPlain},
        Negotiation{"br", kPlain, kPlain}, Negotiation{"gzip;q=0", kPlain, kPlain},
        Negotiation{"gzip;q=0.000", kPlain, kPlain}, Negotiation{"gzip;q=0.001", kGzip, kGzip},
        Negotiation{"gzip ; q=1.0", kGzip, kGzip}, Negotiation{"gzip;Q=0.5", kGzip, kGzip},
        Negotiation{"gzip;q=1, zstd;q=0.5", kGzip, kGzip},
        Negotiation{"gzip;q=0.5, zstd;q=0.5", kZstd, kGzip},
        Negotiation{"identity, gzip;q=0.5", kPlain, kPlain},
        Negotiation{"identity;q=0.5, gzip;q=0.5", kGzip, kGzip},
        Negotiation{"identity;q=0", kPlain, kPlain}, Negotiation{"*", kZstd, kGzip},
        Negotiation{"*;q=0", kPlain, kPlain}, Negotiation{"gzip;q=0, *", kZstd, kPlain},
        Negotiation{"*;q=0, gzip", kGzip, kGzip}, Negotiation{"gzip;q=2", kPlain, kPlain},
        Negotiation{"gzip;q=1.001", kPlain, kPlain}, Negotiation{"gzip;q=0.0001", kPlain, kPlain},
        Negotiation{"gzip;q=", kPlain, kPlain}, Negotiation{"gzip;q=x", kPlain, kPlain},
        Negotiation{"gzip;level=9", kPlain, kPlain}, Negotiation{"gzip q=1", kPlain, kPlain},
        Negotiation{"gzipped", kPlain, kPlain}, Negotiation{", ,gzip,,", kGzip, kGzip}));

TEST(AcceptEncoding, SeveralFieldsAreOneList) {
  const test::ParsedRequest request("Accept-Encoding: br\r\nAccept-Encoding: gzip\r\n");
  EXPECT_EQ(acceptedCodings(request.head()).best({.gzip = true}), Coding::gzip);
}

TEST(AcceptEncoding, WithoutTheFieldTheBodyGoesOutPlain) {
  const test::ParsedRequest request("");
  EXPECT_EQ(acceptedCodings(request.head()).best({.gzip = true, .zstd = true}), Coding::identity);
}

}  // namespace
}  // namespace larder::http
