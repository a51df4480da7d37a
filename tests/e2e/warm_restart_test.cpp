// A cache that outlives the server: warm at once, and never stale.
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "site_fixture.h"

namespace larder::e2e {
namespace {

class WarmRestart : public SiteTest {
 protected:
  void SetUp() override {
    configureSite("",
                  "[[manager]]\nid = \"main\"\ndefault = true\ntype = \"RAMCache\"\n"
                  "snapshot = \"file\"\n");
    seed();
  }
  [[nodiscard]] std::vector<std::filesystem::path> files() const {
    std::vector<std::filesystem::path> found;
    for (const auto& file : std::filesystem::recursive_directory_iterator(dir_.path())) {
      if (file.path().extension() == ".entries") found.push_back(file.path());
    }
    return found;
  }
  std::string output_;
  std::uint64_t held_ = 0;
  std::uint64_t entries() {
    return manage("/@@caches").at("managers")[0].at("entries").at("count").get<std::uint64_t>();
  }
  /// Serves, asks for the page twice and ends in order.
  HttpAnswer warm(const std::string& page) {
    auto server = serve();
    httpAsk(port_, "GET", page);
    auto answer = httpAsk(port_, "GET", page);
    held_ = entries();
    EXPECT_EQ(server.stop(), 0) << server.output();
    output_ = server.output();
    return answer;
  }
};

TEST_F(WarmRestart, TheFirstRequestAfterARestartIsAHit) {
  const std::string page = "/handbook/guide/first-steps";
  const auto before = warm(page);
  ASSERT_EQ(files().size(), 1U);
  const auto server = serve();
  ASSERT_TRUE(eventually([&] { return entries() == held_; }));
  const auto after = httpAsk(port_, "GET", page);
  EXPECT_TRUE(isHit(after)) << cacheStatus(after);
  EXPECT_EQ(after.body, before.body);
}

TEST_F(WarmRestart, LedgerL09_WhatWasEditedWhileTheServerWasDownIsNotServed) {
  const std::string page = "/handbook/guide/first-steps";
  const std::string other = "/handbook/concepts/validity";
  {
    auto server = serve();
    for (const auto& p : {page, other, page, other}) httpAsk(port_, "GET", p);
    held_ = entries();
    ASSERT_EQ(server.stop(), 0);
  }
  const auto kept = files().at(0);
  const std::filesystem::path copy = dir_.file("copy");
  std::filesystem::copy_file(kept, copy);
  {
    const auto server = serve();
    Visitor editor(port_);
    editor.logIn(kLogin, kPassword);
    ASSERT_EQ(editor.edit(page, "# First steps\n\nEdited meanwhile.\n").status, 303);
  }
  std::filesystem::copy_file(copy, kept, std::filesystem::copy_options::overwrite_existing);
  const auto server = serve();
  ASSERT_TRUE(eventually([&] { return entries() == held_; }));
  const auto after = httpAsk(port_, "GET", page);
  EXPECT_FALSE(isHit(after));
  EXPECT_NE(after.body.find("Edited meanwhile."), std::string::npos);
}

TEST_F(WarmRestart, ADamagedFileIsIgnored) {
  const std::string page = "/handbook/guide/first-steps";
  warm(page);
  {
    std::fstream file(files().at(0), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(100);
    file.put('\xff').put('\0').put('\xff');
  }
  const auto answer = warm(page);
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(isHit(answer));
  const std::string told = "starts empty";
  const auto at = output_.find(told);
  ASSERT_NE(at, std::string::npos) << output_;
  EXPECT_EQ(output_.find(told, at + 1), std::string::npos);
  EXPECT_NE(output_.find("is damaged", at), std::string::npos) << output_;
}

TEST_F(WarmRestart, WhatAKilledProcessLeftOfItsFileIsRemoved) {
  warm("/handbook/guide/first-steps");
  const std::string file = files().at(0);
  auto ended = testing::Process::start("true", {});
  ended->wait();
  const std::string left = file + '.' + std::to_string(ended->pid()) + ".new";
  const std::string alive = file + '.' + std::to_string(::getpid()) + ".new";
  const std::string foreign = file + ".of-somebody.new";
  for (const auto& name : {left, alive, foreign}) std::ofstream(name) << "half a file";
  const auto server = serve();
  EXPECT_TRUE(eventually([&] { return !std::filesystem::exists(left); }));
  EXPECT_TRUE(std::filesystem::exists(alive));
  EXPECT_TRUE(std::filesystem::exists(foreign));
}

TEST_F(WarmRestart, AnUnknownKindOfSnapshotIsRefused) {
  configureSite("", "[[manager]]\nid = \"main\"\ntype = \"RAMCache\"\nsnapshot = \"disk\"\n");
  const auto refused = run({"serve", conf_});
  EXPECT_NE(refused.status, 0);
  EXPECT_NE(refused.output.find("write \"file\" or \"off\""), std::string::npos) << refused.output;
}

}  // namespace
}  // namespace larder::e2e
