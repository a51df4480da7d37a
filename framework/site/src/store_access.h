// What statements may do, by SQLite's authorizer: set once per connection, switched by mode (L8).
//
// Used by the thread that uses the connection.
#pragma once

#include <set>
#include <string>

#include "sqlite.h"

namespace larder::site {

/// A render's connection: an app's statement may read, and is asked what.
class ReadAccess final : public sqlite::Access {
 public:
  struct Collected {
    std::set<std::string> tables;
    bool random = false;
  };

  /// While it lives, statements that are prepared are an app's, and what they read is collected.
  class Collecting {
   public:
    explicit Collecting(ReadAccess& access) noexcept : access_(access) {
      access.collected_ = {};
      access.mode_ = Mode::collecting;
    }
    ~Collecting() { access_.mode_ = Mode::own; }
    Collecting(const Collecting&) = delete;
    Collecting& operator=(const Collecting&) = delete;
    [[nodiscard]] Collected take() { return std::move(access_.collected_); }

   private:
    ReadAccess& access_;
  };
  /// While it lives, a statement of an app runs: virtual tables prepare what they need themselves.
  class Running {
   public:
    explicit Running(ReadAccess& access) noexcept : access_(access) {
      access.mode_ = Mode::running;
    }
    ~Running() { access_.mode_ = Mode::own; }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    ReadAccess& access_;
  };

  int authorize(int action, const char* a, const char* b, const char* database,
                const char* accessor) noexcept override;

 private:
  enum class Mode { own, collecting, running };
  Mode mode_ = Mode::own;
  Collected collected_;
};

/// The writer's connection.
class WriteAccess final : public sqlite::Access {
 public:
  enum class Mode {
    own,
    app,      ///< an app's statement: reads, and changes of the app's tables
    running,  ///< such a statement at work: what virtual tables need themselves
    schema,   ///< an app's schema: also makes and drops its tables
  };
  class Scope {
   public:
    Scope(WriteAccess& access, Mode mode) noexcept : access_(access) { access.mode_ = mode; }
    ~Scope() { access_.mode_ = Mode::own; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    WriteAccess& access_;
  };

  int authorize(int action, const char* a, const char* b, const char* database,
                const char* accessor) noexcept override;

 private:
  Mode mode_ = Mode::own;
};

}  // namespace larder::site
