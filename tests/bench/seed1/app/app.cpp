// The callers of the first seed's two loads as native views; the scripts beside it do the same.
#include <string>

#include "larder/app.h"

namespace {

using larder::Page;
using larder::RenderContext;
using larder::Tree;
using larder::Value;

Value answer(std::size_t count) {
  Page page;
  page.setHeader("Content-Type", "text/plain");
  page.body = std::to_string(count);
  return page;
}

Value ask(RenderContext& context, const char* view, int number) {
  const Tree arguments[] = {Tree(number)};
  return context.call(context.appPath(), view, arguments);
}

/// 1,001 times four calls of the cached list.
class Test1 final : public larder::View {
 public:
  Value render(RenderContext& context) override {
    std::size_t count = 0;
    for (int i = 0; i < 1001; ++i) {
      for (int variant = 1; variant <= 4; ++variant)
        count += ask(context, "list", variant).document().root().size();
    }
    return answer(count);
  }
};

/// A page of 62 members.
class Test2 final : public larder::View {
 public:
  Value render(RenderContext& context) override {
    std::size_t count = 0;
    for (int number = 1; number <= 62; ++number)
      count += ask(context, "user", number).document().root()["history"].size();
    return answer(count);
  }
};

/// The calls of ten pages in one, so that what a request takes beside them hardly counts.
class Test2Calls final : public larder::View {
 public:
  Value render(RenderContext& context) override {
    std::size_t count = 0;
    for (int page = 0; page < 10; ++page) {
      for (int number = 1; number <= 62; ++number)
        count += ask(context, "user", number).document().root()["history"].size();
    }
    return answer(count);
  }
};

class Seed1 final : public larder::App {
 public:
  void define(larder::AppBuilder& app) override {
    app.view("test1_native", "", std::make_unique<Test1>());
    app.view("test2_native", "", std::make_unique<Test2>());
    app.view("test2_calls", "", std::make_unique<Test2Calls>());
  }
};

}  // namespace

LARDER_APP_MODULE(Seed1, "seed1_app", "1.0")
