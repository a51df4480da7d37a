// Several processes and threads on one file. The other processes are forked before this one opens
// the store, since SQLite's locks do not survive a fork.
//
// Environment: LARDER_KILLS how many writers are killed (30), LARDER_EDITORS_SECONDS how long
// editors and readers work (1).
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <system_error>
#include <thread>

#include "larder/cache/system_clock.h"
#include "store_fixture.h"

namespace larder::site {
namespace {

int setting(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text ? std::atoi(text) : otherwise;
}

/// Memory that forked processes share.
struct Shared {
  std::atomic<std::uint64_t> asked;
  std::atomic<std::uint64_t> acknowledged;
  std::atomic<bool> failed;
};

class ProcessesTest : public ::testing::Test {
 protected:
  ProcessesTest() {
    void* memory =
        mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared_ = new (memory) Shared{};
  }
  ~ProcessesTest() override {
    for (const auto pid : children_) finish(pid, SIGKILL);
    munmap(shared_, sizeof(Shared));
  }
  StoreOptions options() {
    StoreOptions options;
    options.data_dir = dir_.file("var");
    options.clock = &clock_;
    options.writer_wait = 60'000;
    return options;
  }
  template <class Work>
  pid_t child(Work&& work) {
    const pid_t pid = fork();
    if (pid < 0) throw std::system_error(errno, std::generic_category(), "fork");
    if (pid == 0) {
      try {
        work();
        _exit(0);
      } catch (const std::exception& error) {
        (void)!write(2, error.what(), std::string_view(error.what()).size());
        shared_->failed = true;
        _exit(1);
      }
    }
    children_.push_back(pid);
    return pid;
  }
  void finish(pid_t pid, int signal) {
    std::erase(children_, pid);
    if (signal != 0) kill(pid, signal);
    int status = 0;
    waitpid(pid, &status, 0);
  }
  static void make(Store& store, const std::string& path, std::int64_t n) {
    store.edit([&](Edit& edit) {
      Object object;
      object.path = path;
      object.type = "document";
      object.title = std::to_string(n);
      object.body = object.title;
      edit.create(object);
    });
  }
  static void set(Store& store, const std::string& path, std::uint64_t n) {
    store.edit([&](Edit& edit) {
      Object object = *edit.open(path);
      object.title = std::to_string(n);
      object.body = std::string(n % 9'000, 'b') + object.title;
      object.properties = Document::from(Tree::map().set("n", static_cast<std::int64_t>(n)));
      edit.update(object, 0);
    });
  }

  larder::testing::TempDir dir_;
  SystemClock clock_;
  Shared* shared_;
  std::vector<pid_t> children_;
};

// The other process commits when it is asked to; from the moment it says so, an older value must
// not be valid here.
TEST_F(ProcessesTest, LedgerL10_TwoThousandAcknowledgedCommitsAreNeverMissed) {
  constexpr std::uint64_t kCommits = 2'000;
  make(*Store::open(options()), "/a", 0);
  child([&] {
    const auto store = Store::open(options());
    for (std::uint64_t i = 1; i <= kCommits; ++i) {
      while (shared_->asked.load(std::memory_order_acquire) != i) std::this_thread::yield();
      set(*store, "/a", i);
      shared_->acknowledged.store(i, std::memory_order_release);
    }
  });
  const auto store = Store::open(options());
  std::uint64_t missed = 0;
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 1; i <= kCommits; ++i) {
    Reading before;
    {
      const auto snapshot = store->read();
      before.stamp = snapshot->stamp();
      (void)snapshot->object("/a", before.recorder);
    }
    shared_->asked.store(i, std::memory_order_release);
    while (shared_->acknowledged.load(std::memory_order_acquire) != i) {
      ASSERT_FALSE(shared_->failed);
      std::this_thread::yield();
    }
    ASSERT_TRUE(store->ledger().observe());
    missed += store->ledger().judge(before.stamp, before.ids()) == Verdict::valid ? 1U : 0U;
    Recorder recorder;
    wrong += store->read()->object("/a", recorder)->title == std::to_string(i) ? 0U : 1U;
    if (i % 250 == 0) store->maintain();
  }
  EXPECT_EQ(missed, 0U);
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(store->stats().unlogged, 0U);
}

TEST_F(ProcessesTest, FaultA38_NoAcknowledgedSaveIsLostWhenAWriterIsKilled) {
  std::int64_t first = 0;
  {
    const auto store = Store::open(options());
    make(*store, "/a", 0);
    Recorder recorder;
    first = store->read()->object("/a", recorder)->revision;
  }
  std::mt19937 random(7);
  const int kills = setting("LARDER_KILLS", 30);
  std::uint64_t n = 0;
  for (int round = 0; round < kills; ++round) {
    shared_->acknowledged = n;
    const auto pid = child([&, n] {
      const auto store = Store::open(options());
      for (auto i = n + 1;; ++i) {
        set(*store, "/a", i);
        shared_->acknowledged.store(i, std::memory_order_release);
        if (i % 16 == 0) store->maintain();
      }
    });
    while (shared_->acknowledged < n + 3) {
      ASSERT_FALSE(shared_->failed);
      std::this_thread::yield();
    }
    usleep(static_cast<useconds_t>(random() % 3'000));
    finish(pid, SIGKILL);
    const auto acknowledged = shared_->acknowledged.load();

    const auto store = Store::open(options());
    Recorder recorder;
    const auto object = store->read()->object("/a", recorder);
    ASSERT_TRUE(object);
    n = std::stoull(object->title);
    ASSERT_GE(n, acknowledged) << "an acknowledged save is gone, round " << round;
    ASSERT_EQ(object->body, std::string(n % 9'000, 'b') + object->title) << "half a save";
    ASSERT_EQ(object->properties.root()["n"].integer(), static_cast<std::int64_t>(n));
    ASSERT_EQ(object->revision, first + static_cast<std::int64_t>(n));
  }
  EXPECT_EQ(shell(dir_.file("var/site.db"), {"PRAGMA integrity_check"}), "ok");
}

// Editors move amounts between objects: whoever reads sees their sum.
TEST_F(ProcessesTest, FaultA38_EditorsAndReadersMeetNoLockAndNoHalfSave) {
  constexpr int kAccounts = 8;
  constexpr int kEditors = 4;
  constexpr int kReaders = 8;
  {
    const auto store = Store::open(options());
    for (int i = 0; i < kAccounts; ++i) make(*store, "/" + std::to_string(i), 100);
  }
  const auto seconds = setting("LARDER_EDITORS_SECONDS", 1);
  const auto until = clock_.monotonic() + seconds * 1'000;
  const auto edit = [&](Store& store, unsigned seed) {
    std::mt19937 random(seed);
    while (clock_.monotonic() < until) {
      const auto from = "/" + std::to_string(random() % kAccounts);
      const auto to = "/" + std::to_string(random() % kAccounts);
      const auto move = [](Edit& e, const std::string& path, int by) {
        Object object = *e.open(path);
        object.title = std::to_string(std::stoi(object.title) + by);
        e.update(object, object.revision);
      };
      store.edit([&](Edit& e) {
        move(e, from, -1);
        move(e, to, 1);
      });
      ++shared_->acknowledged;
    }
  };
  child([&] {
    const auto store = Store::open(options());
    std::vector<std::thread> editors;
    for (unsigned i = 0; i < kEditors; ++i) editors.emplace_back([&, i] { edit(*store, i); });
    for (auto& editor : editors) editor.join();
  });

  const auto store = Store::open(options());
  std::atomic<std::uint64_t> reads{0};
  std::atomic<std::uint64_t> wrong{0};
  std::vector<std::string> errors;
  std::mutex errors_mutex;
  const auto guarded = [&](auto work) {
    return [&, work] {
      try {
        work();
      } catch (const std::exception& error) {
        const std::lock_guard lock(errors_mutex);
        errors.emplace_back(error.what());
      }
    };
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kEditors; ++i)
    threads.emplace_back(guarded([&, i] { edit(*store, 100 + i); }));
  for (int i = 0; i < kReaders; ++i) {
    threads.emplace_back(guarded([&] {
      while (clock_.monotonic() < until) {
        Recorder recorder;
        const auto snapshot = store->read();
        int sum = 0;
        for (const auto& child : snapshot->children("/", {}, recorder))
          sum += std::stoi(child->title);
        if (sum != kAccounts * 100) ++wrong;
        ++reads;
      }
    }));
  }
  threads.emplace_back(guarded([&] {
    while (clock_.monotonic() < until) {
      store->maintain();
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the pace, nothing waits for it
    }
  }));
  for (auto& thread : threads) thread.join();
  EXPECT_TRUE(errors.empty()) << errors.front();
  EXPECT_FALSE(shared_->failed);
  EXPECT_EQ(wrong, 0U);
  EXPECT_EQ(store->stats().unlogged, 0U);
  EXPECT_EQ(store->stats().rewinds, 0U);
  EXPECT_EQ(shell(dir_.file("var/site.db"), {"PRAGMA integrity_check"}), "ok");
  std::cout << shared_->acknowledged << " edits, " << reads << " snapshots\n";
}

// A parent made of a child that was valid, and of what its own snapshot holds, must not be older
// than its stamp says.
TEST_F(ProcessesTest, LedgerL07_AParentIsNeverStoredAroundAnOlderChild) {
  make(*Store::open(options()), "/a", 0);
  const auto seconds = setting("LARDER_EDITORS_SECONDS", 1);
  const auto until = clock_.monotonic() + seconds * 1'000;
  child([&] {
    const auto store = Store::open(options());
    for (std::uint64_t i = 1; clock_.monotonic() < until; ++i) set(*store, "/a", i);
  });
  const auto store = Store::open(options());
  struct Child {
    Stamp stamp;
    std::vector<ScopeId> scopes;
    std::string title;
  };
  std::optional<Child> cached;
  std::uint64_t hits = 0;
  std::uint64_t poisoned = 0;
  while (clock_.monotonic() < until) {
    ASSERT_TRUE(store->ledger().observe());
    const auto snapshot = store->read();
    const auto as_of = snapshot->stamp().as_of;
    Reading reading{snapshot->stamp(), {}};
    const auto now = snapshot->object("/a", reading.recorder)->title;
    if (cached && store->ledger().judge(cached->stamp, cached->scopes, as_of) == Verdict::valid) {
      ++hits;
      poisoned += cached->title == now ? 0U : 1U;
    } else {
      cached = Child{reading.stamp, reading.ids(), now};
    }
  }
  EXPECT_EQ(poisoned, 0U);
  EXPECT_GT(hits, 0U);
}

TEST_F(ProcessesTest, LedgerL06_AnEditThatFindsNoSpaceIsNotAcknowledged) {
  make(*Store::open(options()), "/a", 0);
  child([&] {
    const auto store = Store::open(options());
    const auto title = [&] {
      Recorder recorder;
      return store->read()->object("/a", recorder)->title;
    };
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    getrlimit(RLIMIT_FSIZE, &limit);
    const auto unlimited = limit.rlim_cur;
    limit.rlim_cur = std::filesystem::file_size(dir_.file("var/site.db-wal")) + 300'000;
    setrlimit(RLIMIT_FSIZE, &limit);
    std::uint64_t done = 0;
    try {
      for (;; ++done) set(*store, "/a", done + 1);
    } catch (const StoreError&) {
    }
    const bool kept = title() == std::to_string(done);
    limit.rlim_cur = unlimited;
    setrlimit(RLIMIT_FSIZE, &limit);
    set(*store, "/a", 77);
    if (done == 0 || !kept || title() != "77") throw std::runtime_error("not as acknowledged");
  });
  finish(children_.front(), 0);
  EXPECT_FALSE(shared_->failed);
}

TEST_F(ProcessesTest, SeveralProcessesMayStartAtOnce) {
  for (int i = 0; i < 4; ++i) {
    child([&] {
      const auto store = Store::open(options());
      store->installSchema("app",
                           std::vector<SchemaStep>{{1, "CREATE TABLE t(id INTEGER PRIMARY KEY)"}});
      store->edit([](Edit& edit) { edit.execute("INSERT INTO t DEFAULT VALUES", {}); });
    });
  }
  for (const auto pid : std::vector(children_)) finish(pid, 0);
  EXPECT_FALSE(shared_->failed);
  Recorder recorder;
  EXPECT_EQ(Store::open(options())->read()->query("SELECT id FROM t", {}, recorder).root().size(),
            4U);
}

}  // namespace
}  // namespace larder::site
