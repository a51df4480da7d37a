#include "nginx_fixture.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <sstream>

namespace larder::e2e {

namespace {

std::string withoutChunks(const std::string& body) {
  std::string out;
  std::size_t at = 0;
  for (std::size_t size = 1; size > 0;) {
    const auto end = body.find("\r\n", at);
    if (end == std::string::npos) return "broken chunks";
    size = std::stoul(body.substr(at, end - at), nullptr, 16);
    out += body.substr(end + 2, size);
    at = end + 2 + size + 2;
  }
  return out;
}

}  // namespace

void NginxTest::SetUp() {
  auto started = testing::MemcachedServer::start({.megabytes = 64});
  ASSERT_TRUE(started) << started.error().message;
  memcached_.emplace(std::move(*started));
  configureSite("RAMCache",
                "[[rule]]\npath = \"/**\"\npublish = \"nginx\"\n[nginx]\nlisten = \"127.0.0.1:" +
                    std::to_string(nginx_port_) + "\"\nmemcached = \"" + memcached_->address() +
                    "\"\ntypes = [\"/api/v1 application/json\"]\n[log]\naccess = \"" +
                    dir_.file("access.log") + "\"\n");
  seed();
}

void NginxTest::startNginx() {
  const auto printed = run({"nginx-conf", conf_});
  ASSERT_EQ(printed.status, 0) << printed.output;
  startNginxWith(dir_.write("server-block.conf", printed.output));
}

void NginxTest::startNginxWith(const std::string& server_block) {
  std::string temp;
  for (const auto* kind : {"client_body", "proxy", "fastcgi", "uwsgi", "scgi"})
    temp += std::string(kind) + "_temp_path " + dir_.file("nginx-temp") + ";\n";
  const auto conf = dir_.write(
      "nginx.conf", "daemon off;\nuser root;\nworker_processes 2;\npid " + dir_.file("nginx.pid") +
                        ";\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n" + temp +
                        "include \"" + server_block + "\";\n}\n");
  auto nginx =
      testing::Process::start("nginx", {"-c", conf, "-e", "stderr"}, {.package = "nginx-light"});
  ASSERT_TRUE(nginx) << nginx.error().message;
  nginx_.emplace(std::move(*nginx));
  const auto ready = nginx_->waitForPort(nginx_port_);
  ASSERT_TRUE(ready) << ready.error().message;
}

HttpAnswer NginxTest::through(const std::string& target, const std::string& fields,
                              const std::string& method) const {
  auto answer = httpAsk(nginx_port_, method, target, fields);
  if (headerOf(answer, "Transfer-Encoding") == "chunked") answer.body = withoutChunks(answer.body);
  return answer;
}

std::vector<std::string> NginxTest::keys() {
  std::vector<std::string> keys;
  std::istringstream lines(memcached_->ask("lru_crawler metadump all"));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("key=")) continue;
    // As memcached writes it: percent-encoded once more.
    std::string key;
    const auto text = line.substr(4, line.find(' ') - 4);
    for (std::size_t i = 0; i < text.size(); ++i) {
      unsigned byte = 0;
      if (text[i] == '%' && i + 2 < text.size()) {
        std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16);
        key += static_cast<char>(byte);
        i += 2;
      } else {
        key += text[i];
      }
    }
    keys.push_back(std::move(key));
  }
  return keys;
}

bool NginxTest::isPublished(const std::string& key) {
  return memcached_->ask("get " + key).starts_with("VALUE");
}

bool NginxTest::becomesPublished(const std::string& target) {
  return eventually([&] {
    if (isPublished(target)) return true;
    httpAsk(port_, "GET", target);
    return isPublished(target);
  });
}

std::uint64_t NginxTest::requests() {
  std::uint64_t sum = 0;
  const auto report = manage("/@@caches?entries=0");
  for (const auto& process : report.at("processes"))
    sum += process.at("http").at("requests").get<std::uint64_t>();
  return sum;
}

std::size_t NginxTest::requestsLogged(const std::string& mark) {
  httpAsk(port_, "GET", mark);
  std::string log;
  EXPECT_TRUE(eventually([&] {
    std::ifstream file(dir_.file("access.log"));
    log.assign(std::istreambuf_iterator<char>(file), {});
    return log.find(mark) != std::string::npos;
  })) << log;
  return static_cast<std::size_t>(std::count(log.begin(), log.end(), '\n'));
}

std::uint64_t NginxTest::published(const std::string& what) {
  std::uint64_t sum = 0;
  const auto report = manage("/@@caches?entries=0");
  for (const auto& process : report.at("processes"))
    sum += process.at("nginx").at(what).get<std::uint64_t>();
  return sum;
}

}  // namespace larder::e2e
