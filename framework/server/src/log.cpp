#include "larder/server/log.h"

#include <Poco/AsyncChannel.h>
#include <Poco/AutoPtr.h>
#include <Poco/Channel.h>
#include <Poco/FormattingChannel.h>
#include <Poco/Message.h>
#include <Poco/PatternFormatter.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <system_error>
#include <utility>

#include "utf8.h"

namespace larder::server {
namespace {

Poco::Message::Priority priorityOf(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return Poco::Message::PRIO_DEBUG;
    case LogLevel::info:
      return Poco::Message::PRIO_INFORMATION;
    case LogLevel::warning:
      return Poco::Message::PRIO_WARNING;
    case LogLevel::error:
      break;
  }
  return Poco::Message::PRIO_ERROR;
}

/// Lines to a file that only grows, or to standard error: one write each, so that lines of several
/// processes stay whole.
class LineChannel final : public Poco::Channel {
 public:
  LineChannel() : descriptor_(STDERR_FILENO) {}
  /// Throws std::system_error.
  explicit LineChannel(std::string file) : file_(std::move(file)) { reopen(); }

  void log(const Poco::Message& message) override {
    const std::string line = message.getText() + '\n';
    const std::lock_guard lock(mutex_);
    // What a full disk does not take is lost; there is no better place to say so.
    [[maybe_unused]] const auto written = ::write(descriptor_, line.data(), line.size());
  }
  void reopen() {
    if (file_.empty()) return;
    const int fresh = ::open(file_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);
    if (fresh < 0) throw std::system_error(errno, std::generic_category());
    const std::lock_guard lock(mutex_);
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = fresh;
  }

 protected:
  ~LineChannel() override {
    if (!file_.empty()) ::close(descriptor_);
  }

 private:
  const std::string file_;
  std::mutex mutex_;
  int descriptor_ = -1;
};

/// Throws std::system_error.
Poco::AutoPtr<LineChannel> linesTo(const std::filesystem::path& file) {
  return {new LineChannel(file.string())};
}

Error cannotWrite(const std::filesystem::path& file, const std::system_error& why) {
  return {"log file " + file.string() + " cannot be written: " + why.code().message() +
          "; make its folder writable, or choose another in [log]"};
}

/// A text between quotes on one line.
std::string inQuotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : escapeControls(text)) {
    if (c == '"') result += '\\';
    result += c;
  }
  return result + '"';
}

}  // namespace

std::string escapeControls(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = utf8Length(text);
    const auto byte = static_cast<unsigned char>(text[0]);
    // C1 controls, U+0080 to U+009F, are two bytes in UTF-8.
    const bool c1 = length == 2 && byte == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
    if (length > 0 && byte >= 0x20 && byte != 0x7f && !c1) {
      result += text.substr(0, length);
      text.remove_prefix(length);
      continue;
    }
    if (byte == '\n')
      result += "\\n";
    else if (byte == '\t')
      result += "\\t";
    else
      (result += "\\x") += {kHex[byte >> 4], kHex[byte & 15]};
    text.remove_prefix(1);
  }
  return result;
}

class Log::Channel {
 public:
  explicit Channel(Poco::AutoPtr<LineChannel> lines) : lines_(std::move(lines)) {
    Poco::AutoPtr<Poco::PatternFormatter> formatter(
        new Poco::PatternFormatter("%Y-%m-%dT%H:%M:%S.%iZ [%P] %p: %t"));
    formatter->setProperty(Poco::PatternFormatter::PROP_PRIORITY_NAMES,
                           "error,error,error,warning,info,info,debug,debug");
    formatting_ = new Poco::FormattingChannel(formatter, lines_);
  }
  void write(LogLevel level, std::string_view message) {
    formatting_->log(Poco::Message("larder", escapeControls(message), priorityOf(level)));
  }
  void reopen() { lines_->reopen(); }

 private:
  Poco::AutoPtr<LineChannel> lines_;
  Poco::AutoPtr<Poco::FormattingChannel> formatting_;
};

Result<std::unique_ptr<Log>> Log::open(const LogConfig& config) try {
  if (config.file.empty()) return std::make_unique<Log>(config.level);
  return std::unique_ptr<Log>(
      new Log(std::make_unique<Channel>(linesTo(config.file)), config.level));
} catch (const std::system_error& e) {
  return cannotWrite(config.file, e);
}

Log::Log(LogLevel level)
    : Log(std::make_unique<Channel>(Poco::AutoPtr<LineChannel>(new LineChannel)), level) {}

Log::Log(std::unique_ptr<Channel> channel, LogLevel level)
    : channel_(std::move(channel)), level_(level) {}

Log::~Log() = default;

void Log::write(LogLevel level, std::string_view message) noexcept {
  if (level < level_.load(std::memory_order_relaxed)) return;
  try {
    channel_->write(level, message);
  } catch (...) {  // for want of memory a line is lost, not the server
  }
}

Result<> Log::reopen() {
  try {
    channel_->reopen();
    return Done{};
  } catch (const std::system_error& e) {
    return Error{std::string("the log file cannot be opened again: ") + e.code().message()};
  }
}

/// Lines go to a thread of their own: who logs a request must not wait for a disk.
class AccessLog::File {
 public:
  explicit File(Poco::AutoPtr<LineChannel> lines)
      : lines_(std::move(lines)),
        formatting_(new Poco::FormattingChannel(
            new Poco::PatternFormatter("%Y-%m-%dT%H:%M:%S.%iZ %t"), lines_)),
        async_(new Poco::AsyncChannel(formatting_)) {
    async_->setProperty("queueSize", "10000");
    async_->open();
  }
  ~File() { close(); }
  void close() { async_->close(); }
  void write(const std::string& line) {
    async_->log(Poco::Message("access", line, Poco::Message::PRIO_INFORMATION));
  }
  void reopen() { lines_->reopen(); }

 private:
  Poco::AutoPtr<LineChannel> lines_;
  Poco::AutoPtr<Poco::FormattingChannel> formatting_;
  Poco::AutoPtr<Poco::AsyncChannel> async_;
};

Result<std::unique_ptr<AccessLog>> AccessLog::open(const std::filesystem::path& file,
                                                   http::Handler& next) try {
  return std::unique_ptr<AccessLog>(new AccessLog(std::make_unique<File>(linesTo(file)), next));
} catch (const std::system_error& e) {
  return cannotWrite(file, e);
}

AccessLog::AccessLog(std::unique_ptr<File> file, http::Handler& next)
    : file_(std::move(file)), next_(next) {}
AccessLog::~AccessLog() = default;

void AccessLog::served(const http::Request& request, const http::Served& answer) noexcept {
  next_.served(request, answer);
  try {
    file_->write(request.peer().host() + ' ' +
                 inQuotes(std::string(request.methodName()) + ' ' + std::string(request.target())) +
                 ' ' + std::to_string(answer.status) + ' ' + std::to_string(answer.body_bytes) +
                 ' ' + std::to_string(answer.duration) + "ms" + (answer.fast ? " hit" : ""));
  } catch (...) {  // a line is lost, not the answer
  }
}

void AccessLog::refused(const http::PeerAddress& peer, int status,
                        std::string_view reason) noexcept {
  next_.refused(peer, status, reason);
  try {
    file_->write(peer.host() + " - " + std::to_string(status) + ' ' + inQuotes(reason));
  } catch (...) {  // as above
  }
}

void AccessLog::close() {
  file_->close();
}

Result<> AccessLog::reopen() {
  try {
    file_->reopen();
    return Done{};
  } catch (const std::system_error& e) {
    return Error{std::string("the access log cannot be opened again: ") + e.code().message()};
  }
}

}  // namespace larder::server
