// Runs scripts in tests.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include "fake_context.h"
#include "larder/site/script_view.h"
#include "larder/testing/manual_clock.h"

namespace larder::site::test {

struct ScriptRun {
  testing::ManualClock clock;
  FakeContext context;
  ScriptLimits limits;

  std::shared_ptr<View> make(std::string text) {
    auto view = makeScriptView({"scripts/test.lua", std::move(text), limits}, clock);
    if (!view) throw std::runtime_error(view.error().message);
    return *view;
  }
  Value operator()(std::string text) { return make(std::move(text))->render(context); }

  /// The page body that the script returns.
  std::string body(std::string text) {
    const Value value = (*this)(std::move(text));
    return value.isPage() ? std::string(value.page()->body) : "not a page";
  }
  Document document(std::string text) {
    const Value value = (*this)(std::move(text));
    if (value.isPage()) throw std::runtime_error("a page: " + std::string(value.page()->body));
    return value.document();
  }
  /// What the script's failure says.
  std::string error(std::string text) {
    try {
      (*this)(std::move(text));
      return "no error";
    } catch (const ScriptError& failure) {
      return failure.what();
    } catch (const HttpError& failure) {
      return "HTTP " + std::to_string(failure.status) + " " + failure.message;
    }
  }
};

}  // namespace larder::site::test
