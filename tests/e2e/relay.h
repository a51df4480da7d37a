// Relay: a TCP relay on a free port of 127.0.0.1 before a real server, which does to the answers
// what a test tells it to.
//
//   Relay relay(memcached.port());
//   relay.answers([](std::string answer) { return answer.substr(0, 3); });   // and then nothing
//   relay.pass();
//
// What the server sends at once is one answer. Functions run on the connections' own threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace larder::e2e {

class Relay {
 public:
  /// What the client gets instead of an answer; nothing: its connection is closed.
  using Alter = std::function<std::optional<std::string>(std::string answer)>;

  explicit Relay(std::string server);  ///< "127.0.0.1:PORT"
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  [[nodiscard]] std::string address() const { return "127.0.0.1:" + std::to_string(port_); }
  void pass() { set(Mode::pass, {}); }
  /// Takes connections and questions, and says nothing.
  void hang() { set(Mode::hang, {}); }
  /// Closes every connection at once.
  void refuse() { set(Mode::refuse, {}); }
  void answers(Alter alter) { set(Mode::pass, std::move(alter)); }
  [[nodiscard]] std::size_t connections() const { return open_; }

 private:
  enum class Mode : std::uint8_t { pass, hang, refuse };
  void set(Mode mode, Alter alter);
  void accept();
  void serve(int client);
  /// False: the connection is to be closed.
  bool passOn(int from, int to, bool answer);

  const std::string server_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<std::size_t> open_{0};
  std::mutex mutex_;
  Mode mode_ = Mode::pass;
  Alter alter_;
  std::vector<std::thread> threads_;
};

}  // namespace larder::e2e
