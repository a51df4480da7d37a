// The loader with real modules. What a descriptor can have wrong beyond these is in the unit tests.
#include "larder/cache/plugin_loader.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <thread>
#include <vector>

#include "larder/cache.h"
#include "larder/cache/settings_reader.h"
#include "larder/test/paths.h"
#include "larder/testing/inline_executor.h"
#include "larder/testing/manual_clock.h"
#include "larder/testing/temp_dir.h"
#include "larder/testing/test_host.h"

namespace larder {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;

class PluginLoaderTest : public ::testing::Test {
 protected:
  /// Puts a module into the plugin directory, as an installation would.
  std::string install(const std::string& module, const std::string& name) {
    const std::string path = dir.file(name);
    const std::string source = test::buildDir() + "/tests/plugins/" + module + ".so";
    fs::copy_file(source, path + ".new", fs::copy_options::overwrite_existing);
    ::chmod((path + ".new").c_str(), 0644);
    fs::rename(path + ".new", path);
    return path;
  }
  std::string install(const std::string& module) { return install(module, module + ".so"); }

  std::string refusal(const std::string& file) {
    const auto plugin = loader.load(file);
    return plugin ? "accepted" : plugin.error().message;
  }
  PluginPtr load(const std::string& file) {
    auto plugin = loader.load(file);
    EXPECT_TRUE(plugin) << plugin.error().message;
    return plugin ? *plugin : nullptr;
  }
  Result<PluginInstance<Cache>> instantiate(const PluginPtr& plugin) {
    return plugin->instantiate<Cache>(host, *readSettings(plugin->settings(), {}, "test"));
  }

  testing::TempDir dir;
  PluginLoader loader{{dir.path()}};
  testing::ManualClock clock;
  testing::InlineExecutor executor{clock};
  testing::TestHost host{clock, executor};
};

TEST_F(PluginLoaderTest, LoadsAPluginByName) {
  install("test_cache");
  const PluginPtr plugin = load("test_cache.so");
  EXPECT_EQ(plugin->type(), "TestCache");
  EXPECT_EQ(plugin->origin(), dir.file("test_cache.so"));
}

TEST_F(PluginLoaderTest, LoadsAPluginByItsAbsolutePath) {
  install("test_cache");
  EXPECT_EQ(load(dir.file("test_cache.so"))->type(), "TestCache");
}

TEST_F(PluginLoaderTest, MakesWorkingInstances) {
  install("test_cache");
  auto cache = instantiate(load("test_cache.so"));
  ASSERT_TRUE(cache) << cache.error().message;
  EXPECT_EQ((*cache)->get({"key", digestOf("key")}, 0).status, Status::miss);
}

TEST_F(PluginLoaderTest, LoadingAgainGivesTheSamePlugin) {
  install("test_cache");
  EXPECT_EQ(load("test_cache.so"), load(dir.file("test_cache.so")));
}

TEST_F(PluginLoaderTest, AModulesSymbolsStayItsOwn) {
  install("test_cache");
  load("test_cache.so");
  EXPECT_EQ(::dlsym(RTLD_DEFAULT, LARDER_PLUGIN_SYMBOL), nullptr);
}

TEST_F(PluginLoaderTest, ManyThreadsLoadOnePluginOnce) {
  install("test_cache");
  std::vector<PluginPtr> loaded(8);
  std::vector<std::thread> threads;
  for (auto& plugin : loaded)
    threads.emplace_back([&] {
      loader.loadAll();
      plugin = *loader.load("test_cache.so");
    });
  for (auto& thread : threads) thread.join();
  EXPECT_THAT(loaded, ::testing::Each(loaded[0]));
}

TEST_F(PluginLoaderTest, AMissingFileNamesDirectoriesAndTheNearestName) {
  install("test_cache");
  EXPECT_EQ(refusal("test_cahce.so"), "plugin file test_cahce.so does not exist in " + dir.path() +
                                          "; did you mean 'test_cache.so'?");
}

TEST_F(PluginLoaderTest, AFileOutsideOfTheDirectoriesIsRefused) {
  const testing::TempDir other;
  EXPECT_THAT(refusal(other.file("x.so")), HasSubstr("is not in a configured plugin directory"));
}

TEST_F(PluginLoaderTest, ARelativePathIsRefused) {
  EXPECT_THAT(refusal("plugins/x.so"), HasSubstr("or an absolute path"));
  EXPECT_THAT(refusal("../x.so"), HasSubstr("or an absolute path"));
  EXPECT_THAT(refusal(""), HasSubstr("or an absolute path"));
}

TEST_F(PluginLoaderTest, APathThatLeavesTheDirectoryIsRefused) {
  EXPECT_THAT(refusal(dir.path() + "/../x.so"),
              HasSubstr("is not in a configured plugin directory"));
}

TEST_F(PluginLoaderTest, ARelativeDirectoryIsRefused) {
  PluginLoader relative({"plugins"});
  const auto refusals = relative.loadAll();
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_THAT(refusals[0].message, HasSubstr("'plugins' is not absolute"));
}

TEST_F(PluginLoaderTest, AMissingDirectoryIsReported) {
  PluginLoader missing({dir.file("nowhere")});
  const auto refusals = missing.loadAll();
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_THAT(refusals[0].message, HasSubstr("cannot be opened: No such file or directory"));
}

TEST_F(PluginLoaderTest, ASymbolicLinkIsRefused) {
  fs::create_symlink(test::buildDir() + "/tests/plugins/test_cache.so", dir.file("link.so"));
  EXPECT_THAT(refusal("link.so"), HasSubstr("link.so is a symbolic link"));
}

TEST_F(PluginLoaderTest, AFolderIsRefused) {
  fs::create_directory(dir.file("folder.so"));
  EXPECT_THAT(refusal("folder.so"), HasSubstr("folder.so is not a regular file"));
}

TEST_F(PluginLoaderTest, ANamedPipeIsRefusedWithoutWaiting) {
  ASSERT_EQ(::mkfifo(dir.file("pipe.so").c_str(), 0644), 0);
  EXPECT_THAT(refusal("pipe.so"), HasSubstr("pipe.so is not a regular file"));
}

TEST_F(PluginLoaderTest, AFileThatTheWorldCanWriteIsRefused) {
  ::chmod(install("test_cache").c_str(), 0666);
  EXPECT_THAT(refusal("test_cache.so"), HasSubstr("run chmod go-w " + dir.file("test_cache.so")));
}

TEST_F(PluginLoaderTest, ADirectoryThatTheGroupCanWriteIsRefused) {
  install("test_cache");
  ::chmod(dir.path().c_str(), 0770);
  EXPECT_THAT(refusal("test_cache.so"), HasSubstr("run chmod go-w " + dir.path()));
}

TEST_F(PluginLoaderTest, WhatIsNoModuleIsRefused) {
  dir.write("text.so", "not ELF");
  ::chmod(dir.file("text.so").c_str(), 0644);
  EXPECT_THAT(refusal("text.so"),
              AllOf(HasSubstr("text.so cannot be loaded as a module"), HasSubstr(dir.path()),
                    ::testing::Not(HasSubstr("/proc/self"))));
}

TEST_F(PluginLoaderTest, AModuleWithoutTheSymbolIsRefused) {
  install("bad_symbol");
  EXPECT_THAT(refusal("bad_symbol.so"), HasSubstr("has no symbol larder_plugin_descriptor"));
}

TEST_F(PluginLoaderTest, AModuleThatMissesAFunctionIsRefusedAtOnce) {
  install("bad_link");
  EXPECT_THAT(refusal("bad_link.so"), HasSubstr("larder_function_that_nobody_defines"));
}

TEST_F(PluginLoaderTest, AnotherMajorVersionIsRefused) {
  install("bad_major");
  EXPECT_THAT(refusal("bad_major.so"),
              HasSubstr("is built for plugin ABI 2.0, this server has ABI 1.0"));
}

TEST_F(PluginLoaderTest, ANewerMinorVersionIsRefused) {
  install("bad_minor");
  EXPECT_THAT(refusal("bad_minor.so"),
              HasSubstr("is built for plugin ABI 1.9, this server has ABI 1.0"));
}

TEST_F(PluginLoaderTest, AnotherFingerprintIsRefused) {
  install("bad_fingerprint");
  EXPECT_THAT(refusal("bad_fingerprint.so"),
              AllOf(HasSubstr("\"gcc-4\""), HasSubstr(LARDER_FINGERPRINT)));
}

TEST_F(PluginLoaderTest, CreateThatThrowsBecomesAnError) {
  install("bad_throw");
  const auto cache = instantiate(load("bad_throw.so"));
  ASSERT_FALSE(cache);
  EXPECT_EQ(cache.error().message, "Bad (" + dir.file("bad_throw.so") +
                                       ") could not be set up: the store at 10.0.0.1 refuses");
}

TEST_F(PluginLoaderTest, CreateThatThrowsAnythingBecomesAnError) {
  install("bad_throw_int");
  EXPECT_FALSE(instantiate(load("bad_throw_int.so")));
}

TEST_F(PluginLoaderTest, LoadAllTakesWhatIsGoodAndReportsTheRest) {
  install("test_cache");
  install("test_store");
  install("bad_major");
  dir.write("readme.txt", "no plugin");
  const auto refusals = loader.loadAll();
  ASSERT_EQ(refusals.size(), 1u);
  EXPECT_EQ(refusals[0].file, dir.file("bad_major.so"));
  EXPECT_TRUE(loader.find("TestCache"));
  EXPECT_TRUE(loader.find("TestStore"));
}

TEST_F(PluginLoaderTest, AnUnknownTypeTellsOfRefusedFiles) {
  install("bad_major");
  loader.loadAll();
  EXPECT_THAT(loader.find("Bad").error().message,
              HasSubstr("\nrefused: " + dir.file("bad_major.so") + " is built for plugin ABI 2.0"));
}

TEST_F(PluginLoaderTest, ARefusedFileCanBeReplacedByAGoodOne) {
  install("bad_major", "cache.so");
  EXPECT_NE(refusal("cache.so"), "accepted");
  install("test_cache", "cache.so");
  EXPECT_EQ(load("cache.so")->type(), "TestCache");
}

TEST_F(PluginLoaderTest, ALoadedFileThatIsReplacedGoesOnUnchanged) {
  install("test_cache", "cache.so");
  const PluginPtr plugin = load("cache.so");
  EXPECT_FALSE(plugin->changedOnDisk());
  install("test_store", "cache.so");
  EXPECT_EQ(load("cache.so"), plugin);
  EXPECT_TRUE(plugin->changedOnDisk());
}

TEST_F(PluginLoaderTest, ALoadedFileThatIsRemovedGoesOn) {
  install("test_cache");
  const PluginPtr plugin = load("test_cache.so");
  fs::remove(dir.file("test_cache.so"));
  EXPECT_EQ(load("test_cache.so"), plugin);
  EXPECT_TRUE(plugin->changedOnDisk());
}

TEST_F(PluginLoaderTest, LoadersThatComeAndGoLeaveNoFilesOpen) {
  install("test_cache");
  const auto openFiles = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  load("test_cache.so");
  const auto before = openFiles();
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(PluginLoader({dir.path()}).load("test_cache.so"));
  EXPECT_EQ(openFiles(), before);
}

}  // namespace
}  // namespace larder
