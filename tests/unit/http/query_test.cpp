#include "larder/cache/query.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace larder::cache {
namespace {

using namespace std::string_literals;
using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs pairsOf(const Params& params) {
  Pairs pairs;
  for (const Param& p : params) pairs.emplace_back(p.name, p.value);
  return pairs;
}

Pairs parsed(std::string_view text) {
  Params params;
  EXPECT_EQ(params.addForm(text), ParamStatus::ok);
  return pairsOf(params);
}

struct Form {
  std::string text;
  Pairs pairs;
};

class FormText : public testing::TestWithParam<Form> {};

TEST_P(FormText, KeepsOrderAbsenceAndEmptiness) {
  EXPECT_EQ(parsed(GetParam().text), GetParam().pairs);
}

INSTANTIATE_TEST_SUITE_P(
    All, FormText,
    testing::Values(Form{"", {}}, Form{"a=1", {{"a", "1"}}}, Form{"a", {{"a", ""}}},
                    Form{"a=", {{"a", ""}}}, Form{"a=1&a=2", {{"a", "1"}, {"a", "2"}}},
                    Form{"a=2&a=1", {{"a", "2"}, {"a", "1"}}}, Form{"a[]=1", {{"a[]", "1"}}},
                    Form{"&&a=1&&b=2&", {{"a", "1"}, {"b", "2"}}}, Form{"=x", {{"", "x"}}},
                    Form{"a=b=c", {{"a", "b=c"}}}, Form{"a+b=c+d", {{"a b", "c d"}}},
                    Form{"a=%2B", {{"a", "+"}}}, Form{"a=%2541", {{"a", "%41"}}},
                    Form{"a=%26b%3Dc", {{"a", "&b=c"}}}, Form{"%61=1", {{"a", "1"}}},
                    Form{"\u00e9=\u00e9", {{"\u00e9", "\u00e9"}}},
                    Form{"%C3%A9=%c3%a9", {{"\u00e9", "\u00e9"}}},
                    Form{"a=1;b=2", {{"a", "1;b=2"}}}, Form{"a=%0D%0A", {{"a", "\r\n"}}},
                    Form{"a=?", {{"a", "?"}}}));

struct BadForm {
  std::string text;
  ParamStatus status;
};

class MalformedForm : public testing::TestWithParam<BadForm> {};

TEST_P(MalformedForm, FaultA19_IsRefused) {
  Params params;
  EXPECT_EQ(params.addForm(GetParam().text), GetParam().status);
}

INSTANTIATE_TEST_SUITE_P(
    All, MalformedForm,
    testing::Values(
        BadForm{"a=%", ParamStatus::badEscape}, BadForm{"a=%2", ParamStatus::badEscape},
        BadForm{"a=%zz", ParamStatus::badEscape}, BadForm{"%=a", ParamStatus::badEscape},
        BadForm{"a=%00", ParamStatus::nul}, BadForm{"%00", ParamStatus::nul},
        BadForm{"a=\0"s, ParamStatus::nul}, BadForm{"a=%ff", ParamStatus::badUtf8},
        BadForm{"%ff=1", ParamStatus::badUtf8}, BadForm{"a=\xC3", ParamStatus::badUtf8},
        BadForm{"a=%C0%AF", ParamStatus::badUtf8}, BadForm{"a=%ED%A0%80", ParamStatus::badUtf8},
        // An escape ends with its pair: the rest of a character cannot come from the next.
        BadForm{"a=%C3&b=%A9", ParamStatus::badUtf8},
        BadForm{"a=1&b=2&c=%", ParamStatus::badEscape}));

TEST(Params, Semantics01_AbsentIsNotEmpty) {
  Params params;
  ASSERT_EQ(params.addForm("x"), ParamStatus::ok);
  EXPECT_EQ(params.first("x"), "");
  EXPECT_EQ(params.first("y"), std::nullopt);
}

TEST(Params, FirstIsTheFirstOfSeveral) {
  Params params;
  ASSERT_EQ(params.addForm("a=1&b=9&a=2"), ParamStatus::ok);
  EXPECT_EQ(params.first("a"), "1");
  EXPECT_EQ(params.count("a"), 2U);
}

TEST(Params, RefusedTextLeavesNothingBehind) {
  Params params;
  ASSERT_NE(params.addForm("a=1&b=%"), ParamStatus::ok);
  EXPECT_TRUE(params.empty());
}

TEST(Params, WhatNeedsNoDecodingIsNotCopied) {
  const std::string text = "name=value";
  Params params;
  ASSERT_EQ(params.addForm(text), ParamStatus::ok);
  EXPECT_EQ(params.first("name")->data(), text.data() + 5);
}

TEST(Params, DecodedTextSurvivesMoreTextAndAMove) {
  Params params;
  ASSERT_EQ(params.addForm("a=%41"), ParamStatus::ok);
  const std::string more = "b=" + std::string(3000, '+') + "%42";
  ASSERT_EQ(params.addForm(more), ParamStatus::ok);
  const Params moved = std::move(params);
  EXPECT_EQ(pairsOf(moved), (Pairs{{"a", "A"}, {"b", std::string(3000, ' ') + "B"}}));
}

TEST(Params, AnObjectCanBeUsedAgain) {
  Params params;
  for (int i = 0; i < 100; ++i) {
    params.clear();
    const std::string text = "a=%41" + std::to_string(i) + "&b=%42";
    ASSERT_EQ(params.addForm(text), ParamStatus::ok);
    ASSERT_EQ(pairsOf(params), (Pairs{{"a", "A" + std::to_string(i)}, {"b", "B"}}));
  }
}

TEST(Params, AMovedFromObjectCanBeUsedAgain) {
  Params params;
  ASSERT_EQ(params.addForm("a=%41&b=" + std::string(3000, '+')), ParamStatus::ok);
  const Params moved = std::move(params);
  params.clear();  // NOLINT(bugprone-use-after-move): what is tested
  ASSERT_EQ(params.addForm("c=%43"), ParamStatus::ok);
  EXPECT_EQ(params.first("c"), "C");
}

TEST(Params, CountIsLimited) {
  Params params;
  EXPECT_EQ(params.addForm("a&b&c", {.count = 2}), ParamStatus::tooMany);
}

TEST(Params, LengthIsLimited) {
  Params params;
  EXPECT_EQ(params.addForm("a=12345", {.bytes = 6}), ParamStatus::tooLong);
}

struct CookieField {
  std::string text;
  Pairs pairs;
};

class Cookies : public testing::TestWithParam<CookieField> {};

TEST_P(Cookies, AreReadLeniently) {
  Params cookies;
  EXPECT_EQ(cookies.addCookies(GetParam().text), ParamStatus::ok);
  EXPECT_EQ(pairsOf(cookies), GetParam().pairs);
}

INSTANTIATE_TEST_SUITE_P(
    All, Cookies,
    testing::Values(CookieField{"", {}}, CookieField{"a=1", {{"a", "1"}}},
                    CookieField{"a=1; b=2", {{"a", "1"}, {"b", "2"}}},
                    CookieField{"a=1;b=2;", {{"a", "1"}, {"b", "2"}}},
                    CookieField{" a = 1 ;\tb=2", {{"a", "1"}, {"b", "2"}}},
                    CookieField{"a=\"x y\"", {{"a", "x y"}}}, CookieField{"a=\"", {{"a", "\""}}},
                    CookieField{"a=b=c", {{"a", "b=c"}}}, CookieField{"a=", {{"a", ""}}},
                    CookieField{"a=%41", {{"a", "%41"}}}, CookieField{"a; =b; c=d", {{"c", "d"}}},
                    CookieField{"a=1; a=2", {{"a", "1"}, {"a", "2"}}}));

TEST(Cookies, CountIsLimited) {
  Params cookies;
  EXPECT_EQ(cookies.addCookies("a=1; b=2; c=3", {.count = 2}), ParamStatus::tooMany);
}

}  // namespace
}  // namespace larder::cache
