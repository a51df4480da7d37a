// Log: one line an event, to standard error or a file. AccessLog: one line a request, to a file.
//
//   auto log = Log::open(config.log);
//   if (!log) fail(log.error().message);
//   (*log)->write(LogLevel::info, "serving http://127.0.0.1:8080");
//
// Lines begin with the time (UTC), the process id and the level. Control characters of a message
// are escaped (\n, \x1b), so that nothing a client sends can forge a line. Several processes may
// write to one file. Thread-safe.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "larder/host.h"
#include "larder/http/handler.h"
#include "larder/result.h"
#include "larder/server/config.h"

namespace larder::server {

/// The text with control characters, and bytes that are not UTF-8, escaped.
[[nodiscard]] std::string escapeControls(std::string_view text);

class Log {
 public:
  static Result<std::unique_ptr<Log>> open(const LogConfig& config);
  /// To standard error, everything from `level` on.
  explicit Log(LogLevel level);
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void write(LogLevel level, std::string_view message) noexcept;
  void setLevel(LogLevel level) noexcept { level_.store(level, std::memory_order_relaxed); }
  /// After the file was moved away (logrotate): goes on in a new one.
  Result<> reopen();

 private:
  class Channel;
  explicit Log(std::unique_ptr<Channel> channel, LogLevel level);
  std::unique_ptr<Channel> channel_;
  std::atomic<LogLevel> level_;
};

/// Passes everything on to another handler, and writes each answer down.
class AccessLog final : public http::Handler {
 public:
  /// `next` is borrowed.
  static Result<std::unique_ptr<AccessLog>> open(const std::filesystem::path& file,
                                                 http::Handler& next);
  ~AccessLog() override;

  http::Fast tryFast(const http::Request& request, http::Response& response) noexcept override {
    return next_.tryFast(request, response);
  }
  void tryTogether(std::span<http::Attempt> attempts) noexcept override {
    next_.tryTogether(attempts);
  }
  void handle(const http::Request& request, http::Response& response,
              http::Finding* finding) noexcept override {
    next_.handle(request, response, finding);
  }
  void served(const http::Request& request, const http::Served& answer) noexcept override;
  void refused(const http::PeerAddress& peer, int status,
               std::string_view reason) noexcept override;
  Result<> reopen();
  /// Returns when all lines are in the file. The server serves no more.
  void close();

 private:
  class File;
  AccessLog(std::unique_ptr<File> file, http::Handler& next);
  std::unique_ptr<File> file_;
  http::Handler& next_;
};

}  // namespace larder::server
