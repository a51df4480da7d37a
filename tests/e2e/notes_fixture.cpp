#include "notes_fixture.h"

#include <stdexcept>

namespace larder::e2e {

using testing::MemcachedServer;

MemcachedServer NotesTest::launch(MemcachedServer::Options options) {
  auto server = MemcachedServer::start(std::move(options));
  if (!server) throw std::runtime_error(server.error().message);
  return std::move(*server);
}

void NotesTest::configureNotes(const std::vector<std::string>& servers,
                               const std::string& settings) {
  dir_.write("app/app.toml", R"(
[[type]]
name = "document"
default_view = "page"
[[view]]
name = "page"
for = "document"
kind = "script"
file = "page.lua"
[[view]]
name = "member"
for = "document"
kind = "script"
file = "member.lua"
[[view]]
name = "overview"
kind = "script"
file = "overview.lua"
manager = "none"
)");
  dir_.write("app/page.lua", R"(
return "<p>" .. object.path .. " " .. object.body .. (request.param("q") or "") .. "</p>"
)");
  dir_.write("app/member.lua", "return {name = object.path, text = object.body}\n");
  dir_.write("app/overview.lua", R"(
local out = {}
for i = 0, 61 do
  local member = view(site.root() .. "/" .. i, "member")
  out[i + 1] = member.name .. " " .. member.text
end
return table.concat(out, "\n")
)");
  std::string list;
  for (const auto& server : servers) list += (list.empty() ? "\"" : ", \"") + server + '"';
  configure("[[app]]\nmount = \"/notes\"\nfolder = \"" + dir_.file("app") +
            "\"\n[[manager]]\nid = \"main\"\ndefault = true\ntype = \"MemcachedManager\"\n"
            "servers = [" +
            list + "]\n" + settings);
}

void NotesTest::publish(int pages, const std::string& version, const std::string& rest) {
  pages_ = pages;
  version_ = version;
  for (int i = 0; i < pages; ++i) {
    dir_.write("pages/" + std::to_string(i) + ".md", "# Note\n\n" + version + "\n" + rest);
  }
  const auto done = run({"import", dir_.file("pages"), "--to", "/notes", "-c", conf_});
  ASSERT_EQ(done.status, 0) << done.output;
}

int NotesTest::expectCurrentPages() {
  int hits = 0;
  for (int i = 0; i < pages_; ++i) hits += expectCurrent(i) ? 1 : 0;
  return hits;
}

bool NotesTest::expectCurrent(int page) {
  const std::string path = "/notes/" + std::to_string(page);
  const auto answer = httpAsk(port_, "GET", path);
  EXPECT_EQ(answer.status, 200) << path << answer.body;
  EXPECT_NE(answer.body.find(path + " "), std::string::npos) << "another page under " << path;
  EXPECT_NE(answer.body.find(version_), std::string::npos) << "an old page under " << path;
  return isHit(answer);
}

void NotesTest::expectCurrentOverview() {
  const auto answer = httpAsk(port_, "GET", "/notes/@@overview");
  EXPECT_EQ(answer.status, 200) << answer.body;
  std::size_t found = 0;
  for (auto at = answer.body.find(version_); at != std::string::npos;
       at = answer.body.find(version_, at + 1))
    ++found;
  EXPECT_EQ(found, std::size_t{kMembers});
}

std::uint64_t NotesTest::troubles() {
  std::uint64_t sum = 0;
  for (const char* name : {"errors_timeout", "errors_unreachable", "errors_protocol",
                           "errors_breaker", "envelope_damaged", "envelope_other_key"})
    sum += stat(name);
  return sum;
}

std::uint64_t NotesTest::stat(const std::string& name) {
  const auto report = manage("/@@caches?entries=0");
  return report.at("managers").at(0).at("stats").at(name).get<std::uint64_t>();
}

}  // namespace larder::e2e
