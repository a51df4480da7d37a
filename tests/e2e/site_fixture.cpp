#include "site_fixture.h"

#include <sqlite3.h>

#include <algorithm>
#include <deque>
#include <fstream>
#include <iterator>

#include "larder/cache/scope.h"

namespace larder::e2e {

namespace {

std::string lowered(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
  return text;
}

std::string formEncoded(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', digits[byte >> 4U], digits[byte & 15U]};
    }
  }
  return out;
}

std::string unescaped(std::string text) {
  for (const auto& [from, to] : std::map<std::string, std::string>{
           {"&amp;", "&"}, {"&#39;", "'"}, {"&quot;", "\""}, {"&lt;", "<"}, {"&gt;", ">"}}) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
  }
  return text;
}

/// Values of all `name="..."` in the text.
std::vector<std::string> attributes(const std::string& html, const std::string& name) {
  std::vector<std::string> values;
  const std::string mark = " " + name + "=\"";
  for (auto at = html.find(mark); at != std::string::npos; at = html.find(mark, at)) {
    at += mark.size();
    values.push_back(unescaped(html.substr(at, html.find('"', at) - at)));
  }
  return values;
}

std::string hiddenField(const std::string& html, const std::string& name) {
  const auto at = html.find("name=\"" + name + "\" value=\"");
  if (at == std::string::npos) return {};
  const auto start = html.find("value=\"", at) + 7;
  return unescaped(html.substr(start, html.find('"', start) - start));
}

}  // namespace

std::string headerOf(const HttpAnswer& answer, std::string_view name) {
  const std::string head = lowered(answer.head);
  const auto at = head.find("\r\n" + lowered(std::string(name)) + ": ");
  if (at == std::string::npos) return {};
  const auto start = at + name.size() + 4;
  return answer.head.substr(start, answer.head.find("\r\n", start) - start);
}

std::string cacheStatus(const HttpAnswer& answer) {
  return headerOf(answer, "Cache-Status");
}
bool isHit(const HttpAnswer& answer) {
  return cacheStatus(answer).starts_with("Larder; hit");
}

std::string Visitor::fields() const {
  return cookie_.empty() ? "" : "Cookie: " + cookie_ + "\r\n";
}

HttpAnswer Visitor::get(const std::string& target) {
  return httpAsk(port_, "GET", target, fields());
}

HttpAnswer Visitor::post(const std::string& target,
                         const std::map<std::string, std::string>& form) {
  std::string body;
  for (const auto& [name, value] : form) {
    body += (body.empty() ? "" : "&") + formEncoded(name) + "=" + formEncoded(value);
  }
  auto answer = httpAsk(port_, "POST", target,
                        fields() + "Content-Type: application/x-www-form-urlencoded\r\n", body);
  if (const auto set = headerOf(answer, "Set-Cookie"); set.starts_with("larder_session="))
    cookie_ = set.substr(0, set.find(';'));
  return answer;
}

void Visitor::logIn(const std::string& login, const std::string& password) {
  const auto answer = post("/handbook/@@login", {{"login", login}, {"password", password}});
  ASSERT_EQ(answer.status, 303) << answer.body;
  ASSERT_FALSE(cookie_.empty());
}

HttpAnswer Visitor::edit(const std::string& page, const std::string& body) {
  const auto form = get(page + "/@@edit");
  EXPECT_EQ(form.status, 200) << form.body;
  return post(page + "/@@edit", {{"csrf", hiddenField(form.body, "csrf")},
                                 {"revision", hiddenField(form.body, "revision")},
                                 {"title", hiddenField(form.body, "title")},
                                 {"body", body}});
}

std::string tieredOver(const std::string& shared, const std::string& path,
                       const std::string& settings) {
  return "[[manager]]\nid = \"both\"\ntype = \"TieredManager\"\nl1 = \"fast\"\nl2 = \"" + shared +
         "\"\n" + settings + "[[rule]]\npath = \"" + path + "\"\nmanager = \"both\"\n";
}

void SiteTest::startMemcached() {
  if (memcached_) return;
  auto started = testing::MemcachedServer::start({.megabytes = 256});
  ASSERT_TRUE(started) << started.error().message;
  memcached_.emplace(std::move(*started));
}

void SiteTest::configureChaos(const std::string& name, const std::string& data, std::uint16_t port,
                              std::uint16_t management, const std::string& timeout,
                              const std::string& more) {
  startMemcached();
  ASSERT_TRUE(memcached_);
  conf_ = dir_.write(
      name, "[site]\ndata = \"" + data + "\"\n[http]\nport = " + std::to_string(port) +
                "\n[management]\nport = " + std::to_string(management) +
                "\n[plugins]\nfolders = [\"" + test::pluginDir() + "\"]\napp_folders = [\"" +
                test::buildDir() + "/tests/apps\"]\n" +
                "[[app]]\nmount = \"/chaos\"\nlibrary = \"chaos_app.so\"\n"
                "[[manager]]\nid = \"shared\"\ndefault = true\ntype = \"MemcachedManager\"\n"
                "servers = [\"" +
                memcached_->address() + "\"]\nmax_probe = \"500ms\"\ntimeout = \"" + timeout +
                "\"\n"
                "[[manager]]\nid = \"fast\"\ntype = \"RAMCache\"\n"
                "[[rule]]\npath = \"/**\"\nview = \"list\"\nmanager = \"fast\"\n" +
                more);
}

void SiteTest::configureSite(const std::string& manager, const std::string& more) {
  std::string settings;
  std::string parts;
  if (manager == "MemcachedManager" || manager == "TieredManager") {
    startMemcached();
    ASSERT_TRUE(memcached_);
    // A busy machine is not the subject.
    settings = "servers = [\"" + memcached_->address() + "\"]\ntimeout = \"2s\"\n";
  }
  if (manager == "TieredManager") {
    parts =
        "[[manager]]\nid = \"fast\"\ntype = \"RAMCache\"\n"
        "[[manager]]\nid = \"shared\"\ntype = \"MemcachedManager\"\n" +
        settings;
    settings.clear();
  }
  configure("[[app]]\nmount = \"/handbook\"\nfolder = \"" + handbook_ +
            "\"\n[[app]]\nmount = \"/api/v1\"\nlibrary = \"comments.so\"\n" + parts +
            (manager.empty() ? std::string()
                             : "[[manager]]\nid = \"main\"\ndefault = true\ntype = \"" + manager +
                                   "\"\n" + settings) +
            "[[rule]]\npath = \"/api/v1/**/no_cache\"\nmanager = \"none\"\n" + more);
}

void SiteTest::seed() {
  std::map<std::string, std::string> content{
      {"/handbook", test::sourceDir() + "/sample-app/handbook/content"}};
  if (const char* more = std::getenv("LARDER_TEST_CONTENT")) content["/handbook/more"] = more;
  for (const auto& [path, folder] : content) {
    const auto imported = run({"import", folder, "--to", path, "-c", conf_});
    ASSERT_EQ(imported.status, 0) << imported.output;
  }
  // The program reads the password from its input, which a shell gives it.
  auto added = testing::Process::start(
      "sh",
      {"-c", std::string("printf '%s\\n' '") + kPassword + "' | '" + test::serverBinary() +
                 "' user add " + kLogin + " --role editor --password-stdin -c '" + conf_ + "'"});
  ASSERT_TRUE(added) << added.error().message;
  ASSERT_EQ(added->wait(), 0) << added->output();
}

std::vector<ScopeId> SiteTest::scopesOf(const std::string& target) {
  const auto explained = manage("/@@explain?url=" + formEncoded(target));
  std::vector<ScopeId> scopes;
  const auto& entry = explained.at("processes").at(0).at("entry");
  if (!entry.is_object()) ADD_FAILURE() << target << ": " << explained.dump();
  for (const auto& name : entry.value("scopes", nlohmann::json::array()))
    scopes.push_back(scopeId(name.get<std::string>()));
  return scopes;
}

std::pair<std::set<ScopeId>, int> SiteTest::changesAfter(int count) {
  std::pair<std::set<ScopeId>, int> changes{{}, 0};
  sqlite3* database = nullptr;
  sqlite3_stmt* rows = nullptr;
  EXPECT_EQ(
      sqlite3_open_v2(dir_.file("var/site.db").c_str(), &database, SQLITE_OPEN_READONLY, nullptr),
      SQLITE_OK);
  EXPECT_EQ(
      sqlite3_prepare_v2(database, "SELECT scope FROM larder_log ORDER BY seq", -1, &rows, nullptr),
      SQLITE_OK);
  while (sqlite3_step(rows) == SQLITE_ROW) {
    if (++changes.second <= count) continue;
    std::vector<ScopeId> expanded;
    expandChange(reinterpret_cast<const char*>(sqlite3_column_text(rows, 0)), expanded);
    changes.first.insert(expanded.begin(), expanded.end());
    changes.first.insert(scopeId("table:object"));  // each of these edits is one of objects
  }
  sqlite3_finalize(rows);
  sqlite3_close(database);
  return changes;
}

std::string SiteTest::uncachedConfiguration(std::uint16_t port) {
  std::ifstream in(conf_);
  std::string text((std::istreambuf_iterator<char>(in)), {});
  const auto replace = [&text](const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
  };
  replace("[http]\nport = " + std::to_string(port_), "[http]\nport = " + std::to_string(port));
  replace("[management]\nport = " + std::to_string(management_port_),
          "[management]\nport = " + std::to_string(testing::freePort()));
  return dir_.write("uncached.toml", text + "[[rule]]\npath = \"/**\"\nmanager = \"none\"\n");
}

std::vector<std::string> SiteTest::crawl(std::uint16_t port) {
  std::vector<std::string> found;
  std::set<std::string> seen{"/handbook"};
  std::deque<std::string> ahead{"/handbook"};
  Visitor visitor(port);
  while (!ahead.empty()) {
    const std::string target = ahead.front();
    ahead.pop_front();
    const auto answer = visitor.get(target);
    if (answer.status != 200) {
      ADD_FAILURE() << target << ": " << answer.status << "\n" << answer.body;
      continue;
    }
    found.push_back(target);
    for (auto link : attributes(answer.body, "href")) {
      link = link.substr(0, link.find('#'));
      const bool local = link.starts_with("/") && !link.starts_with("//");
      const bool form = link.ends_with("/@@edit") || link.ends_with("/@@login");
      if (local && !form && seen.insert(link).second) ahead.push_back(link);
    }
  }
  for (const auto* target :
       {"/handbook/@@search?q=cache", "/handbook/members/1", "/handbook/members/7",
        "/api/v1/comments/5", "/api/v1/comments/users/3"}) {
    found.emplace_back(target);
  }
  return found;
}

std::map<std::string, HttpAnswer> SiteTest::fetchAll(std::uint16_t port,
                                                     const std::vector<std::string>& targets) {
  std::map<std::string, HttpAnswer> answers;
  for (const auto& target : targets) answers[target] = httpAsk(port, "GET", target);
  return answers;
}

}  // namespace larder::e2e
