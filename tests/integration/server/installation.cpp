#include "installation.h"

#include <Poco/Exception.h>
#include <Poco/Net/SocketAddress.h>
#include <Poco/Net/StreamSocket.h>

#include <chrono>
#include <fstream>
#include <thread>

namespace larder::server {

HttpAnswer httpAsk(std::uint16_t port, const std::string& method, const std::string& target,
                   const std::string& fields, const std::string& body) {
  std::string request = method + ' ' + target +
                        " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) +
                        "\r\nConnection: close\r\n" + fields;
  if (!body.empty()) request += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  return httpSend(port, request + "\r\n" + body);
}

HttpAnswer httpSend(std::uint16_t port, const std::string& request) {
  HttpAnswer answer;
  std::string text;
  try {
    Poco::Net::StreamSocket socket(Poco::Net::SocketAddress("127.0.0.1", port));
    socket.setReceiveTimeout(Poco::Timespan(20, 0));
    socket.sendBytes(request.data(), static_cast<int>(request.size()));
    char chunk[16384];
    for (int count = 0; (count = socket.receiveBytes(chunk, sizeof chunk)) > 0;)
      text.append(chunk, static_cast<std::size_t>(count));
  } catch (const Poco::Exception&) {
    return answer;
  }
  const auto end = text.find("\r\n\r\n");
  if (end == std::string::npos || !text.starts_with("HTTP/1.1 ")) return answer;
  answer.status = std::stoi(text.substr(9, 3));
  answer.head = text.substr(0, end + 2);
  answer.body = text.substr(end + 4);
  return answer;
}

Installation::Installation()
    : conf_(dir_.file("larder.toml")),
      port_(testing::freePort()),
      management_port_(testing::freePort()) {
  configure("");
}

void Installation::configure(std::string_view rest) {
  dir_.write("larder.toml", "[site]\ndata = \"" + dir_.file("var") +
                                "\"\n[http]\nport = " + std::to_string(port_) +
                                "\n[management]\nport = " + std::to_string(management_port_) +
                                "\n[plugins]\nfolders = [\"" + test::pluginDir() +
                                "\"]\napp_folders = [\"" + test::appDir() + "\"]\n" +
                                std::string(rest));
}

Installation::Finished Installation::run(
    std::vector<std::string> arguments,
    std::vector<std::pair<std::string, std::string>> environment) {
  auto process = testing::Process::start(test::serverBinary(), std::move(arguments),
                                         {.environment = std::move(environment)});
  if (!process) return {-1, process.error().message};
  const auto status = process->wait();
  return {status.value_or(-1), process->output()};
}

testing::Process Installation::serve(std::vector<std::string> more) {
  std::vector<std::string> arguments = {"serve", conf_};
  arguments.insert(arguments.end(), more.begin(), more.end());
  auto process = testing::Process::start(test::serverBinary(), arguments);
  if (!process) throw std::runtime_error(process.error().message);
  if (const auto ready = process->waitForOutput("serving http://"); !ready)
    throw std::runtime_error(ready.error().message);
  return std::move(*process);
}

std::string Installation::token() const {
  std::string text;
  std::ifstream(dir_.file("var/management.token")) >> text;
  return text;
}

nlohmann::json Installation::manage(const std::string& target, const std::string& body) {
  std::string fields = "Authorization: Bearer " + token() + "\r\n";
  if (!body.empty()) fields += "Content-Type: application/json\r\n";
  const HttpAnswer answer =
      httpAsk(management_port_, body.empty() ? "GET" : "POST", target, fields, body);
  EXPECT_EQ(answer.status, 200) << answer.body;
  return nlohmann::json::parse(answer.body, nullptr, false);
}

std::vector<pid_t> Installation::workers() {
  std::vector<pid_t> pids;
  const nlohmann::json report = manage("/@@caches?entries=0");
  for (const auto& process : report.at("processes"))
    if (process.contains("pid")) pids.push_back(process.at("pid"));
  return pids;
}

bool Installation::within(int time, const std::function<bool()>& ready) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(time);
  // What happens in other processes cannot be waited for in another way than by asking again.
  for (bool last = false;; std::this_thread::sleep_for(std::chrono::milliseconds(20))) {
    if (ready()) return true;
    if (std::exchange(last, Clock::now() >= end)) return false;
  }
}

}  // namespace larder::server
