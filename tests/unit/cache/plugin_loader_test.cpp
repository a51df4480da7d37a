#include "larder/cache/plugin_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <stdexcept>

#include "file_trust.h"
#include "larder/app.h"
#include "larder/cache.h"
#include "larder/servers.h"
#include "larder/testing/inline_executor.h"
#include "larder/testing/manual_clock.h"
#include "larder/testing/test_host.h"

namespace larder {
namespace {

using ::testing::HasSubstr;

constexpr SettingSpec kSpecs[] = {{"max_size", SettingType::size, "1M", "Bytes."}};

class FakeApp final : public App {
 public:
  explicit FakeApp(int& alive) : alive_(alive) { ++alive_; }
  ~FakeApp() override { --alive_; }
  void define(AppBuilder&) override {}

 private:
  int& alive_;
};
int apps_alive = 0;

void* createNothing(Host&, const Settings&) {
  return nullptr;
}
void* createApp(Host&, const Settings&) {
  return static_cast<App*>(new FakeApp(apps_alive));
}
void destroyApp(void* app) {
  delete static_cast<App*>(app);
}
void* createFailing(Host&, const Settings& settings) {
  throw std::runtime_error("no route to " + settings.text("server"));
}
void* createReading(Host&, const Settings& settings) {
  static_cast<void>(settings.text("undeclared"));
  return nullptr;
}

/// What the entry function returns: it takes no argument.
larder_descriptor given;
const larder_descriptor* given_pointer = nullptr;
extern "C" const larder_descriptor* larder_test_entry() {
  return given_pointer;
}

class DescriptorTest : public ::testing::Test {
 protected:
  DescriptorTest() {
    given = {sizeof(larder_descriptor),
             LARDER_ABI_MAJOR,
             LARDER_ABI_MINOR,
             LARDER_FINGERPRINT,
             "Kind",
             "1.0",
             LARDER_OBJECT_CACHE,
             LARDER_BLOCKS,
             kSpecs,
             1,
             createNothing,
             [](void*) {}};
    given_pointer = &given;
  }
  std::string refusal() {
    const auto plugin = loader.addBuiltIn(larder_test_entry);
    return plugin ? "accepted" : plugin.error().message;
  }
  PluginPtr accepted() {
    auto plugin = loader.addBuiltIn(larder_test_entry);
    EXPECT_TRUE(plugin) << plugin.error().message;
    return plugin ? *plugin : nullptr;
  }

  PluginLoader loader{{}};
  testing::ManualClock clock;
  testing::InlineExecutor executor{clock};
  testing::TestHost host{clock, executor};
};

TEST_F(DescriptorTest, AGoodOneIsDescribed) {
  const PluginPtr plugin = accepted();
  EXPECT_EQ(plugin->type(), "Kind");
  EXPECT_EQ(plugin->version(), "1.0");
  EXPECT_EQ(plugin->origin(), "built in");
  EXPECT_EQ(plugin->settings().size(), 1u);
  EXPECT_TRUE(plugin->can(LARDER_BLOCKS));
  EXPECT_FALSE(plugin->can(LARDER_SHARED));
  EXPECT_FALSE(plugin->changedOnDisk());
}

TEST_F(DescriptorTest, NoneIsRefused) {
  given_pointer = nullptr;
  EXPECT_THAT(refusal(), HasSubstr("built in returns no descriptor"));
}

TEST_F(DescriptorTest, OneTooSmallForAVersionIsRefused) {
  given.struct_size = 4;
  given.abi_major = 77;
  EXPECT_THAT(refusal(), HasSubstr("descriptor of 4 bytes, too small to tell its version"));
}

TEST_F(DescriptorTest, OneTooSmallForItsVersionIsRefused) {
  given.struct_size = 40;
  EXPECT_THAT(refusal(), HasSubstr("descriptor of 40 bytes, ABI 1.0 needs at least"));
}

TEST_F(DescriptorTest, ALargerOneIsAccepted) {
  given.struct_size += 64;
  EXPECT_EQ(refusal(), "accepted");
}

TEST_F(DescriptorTest, AnotherMajorVersionIsRefusedAndBothAreShown) {
  given.abi_major = LARDER_ABI_MAJOR + 1;
  EXPECT_THAT(refusal(), HasSubstr("is built for plugin ABI 2.0, this server has ABI 1.0"));
}

TEST_F(DescriptorTest, ANewerMinorVersionIsRefused) {
  given.abi_minor = LARDER_ABI_MINOR + 1;
  EXPECT_THAT(refusal(), HasSubstr("plugin ABI 1.1, this server has ABI 1.0: install a newer"));
}

TEST_F(DescriptorTest, AnotherFingerprintIsRefusedAndBothAreShown) {
  given.fingerprint = "gcc-4;old";
  EXPECT_THAT(refusal(), HasSubstr("\"gcc-4;old\", the server's is \"" LARDER_FINGERPRINT "\""));
}

TEST_F(DescriptorTest, FieldsThatAreNullAreRefused) {
  const std::function<void()> breaks[] = {
      [] { given.fingerprint = nullptr; }, [] { given.type = nullptr; },
      [] { given.version = nullptr; },     [] { given.settings = nullptr; },
      [] { given.create = nullptr; },      [] { given.destroy = nullptr; }};
  const larder_descriptor good = given;
  for (const auto& breakField : breaks) {
    given = good;
    breakField();
    EXPECT_NE(refusal(), "accepted");
  }
}

TEST_F(DescriptorTest, AnEmptyTypeIsRefused) {
  given.type = "";
  EXPECT_THAT(refusal(), HasSubstr("does not say its type"));
}

TEST_F(DescriptorTest, AnUnknownKindIsRefused) {
  given.kind = 9;
  EXPECT_THAT(refusal(), HasSubstr("is of kind 9"));
}

TEST_F(DescriptorTest, UnknownCapabilitiesAreRefused) {
  given.capabilities = 1u << 30;
  EXPECT_THAT(refusal(), HasSubstr("claims capabilities"));
}

TEST_F(DescriptorTest, ASettingWithoutANameIsRefused) {
  static constexpr SettingSpec kNameless[] = {{"", SettingType::size, "1M", "Bytes."}};
  given.settings = kNameless;
  EXPECT_THAT(refusal(), HasSubstr("a setting (number 1) without a name"));
}

TEST_F(DescriptorTest, ASecondOfTheSameTypeIsRefused) {
  accepted();
  EXPECT_THAT(refusal(), HasSubstr("is a second plugin of type 'Kind', after built in"));
}

TEST_F(DescriptorTest, AnAppMayBeCalledLikeAManager) {
  accepted();
  given.kind = LARDER_APP;
  EXPECT_EQ(refusal(), "accepted");
}

TEST_F(DescriptorTest, FindKnowsTypes) {
  const PluginPtr plugin = accepted();
  const auto found = loader.find("Kind");
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, plugin);
}

TEST_F(DescriptorTest, FindNamesTheNearestType) {
  accepted();
  EXPECT_EQ(loader.find("kind").error().message,
            "there is no plugin of type 'kind'; did you mean 'Kind'?");
}

TEST_F(DescriptorTest, FindGivesNoApp) {
  given.kind = LARDER_APP;
  accepted();
  EXPECT_FALSE(loader.find("Kind"));
}

TEST_F(DescriptorTest, WhatCreateThrowsIsTheError) {
  given.create = createFailing;
  Settings settings;
  settings.set("server", std::string("10.0.0.1"));
  const auto cache = accepted()->instantiate<Cache>(host, settings);
  ASSERT_FALSE(cache);
  EXPECT_EQ(cache.error().message, "Kind (built in) could not be set up: no route to 10.0.0.1");
}

TEST_F(DescriptorTest, AnythingElseThatCreateThrowsIsAnErrorToo) {
  given.create = [](Host&, const Settings&) -> void* { throw 42; };
  EXPECT_FALSE(accepted()->instantiate<Cache>(host, {}));
}

TEST_F(DescriptorTest, ReadingAnUndeclaredSettingIsThePluginsError) {
  given.create = createReading;
  EXPECT_THAT(accepted()->instantiate<Cache>(host, {}).error().message,
              HasSubstr("'undeclared' is not in the plugin's schema"));
}

TEST_F(DescriptorTest, AnInstanceThatIsNullIsAnError) {
  EXPECT_THAT(accepted()->instantiate<Cache>(host, {}).error().message,
              HasSubstr("create() returned nothing"));
}

TEST_F(DescriptorTest, AnotherKindThanAskedForIsAnError) {
  EXPECT_EQ(accepted()->instantiate<ByteCache>(host, {}).error().message,
            "Kind (built in) is an object cache, needed is a byte cache");
}

TEST_F(DescriptorTest, AnInstanceIsEndedByItsPlugin) {
  given.kind = LARDER_APP;
  given.create = createApp;
  given.destroy = destroyApp;
  {
    auto app = accepted()->instantiate<App>(host, {});
    ASSERT_TRUE(app);
    const std::shared_ptr<App> shared = std::move(*app);
    EXPECT_EQ(apps_alive, 1);
  }
  EXPECT_EQ(apps_alive, 0);
}

struct stat fileOf(uid_t owner, mode_t mode) {
  struct stat info = {};
  info.st_uid = owner;
  info.st_mode = S_IFREG | mode;
  return info;
}

TEST(FileTrust, RootsAndOursAreSafe) {
  EXPECT_EQ(changeableByOthers("/p.so", fileOf(0, 0644), 33), std::nullopt);
  EXPECT_EQ(changeableByOthers("/p.so", fileOf(33, 0755), 33), std::nullopt);
}

TEST(FileTrust, AnotherUsersIsNot) {
  EXPECT_THAT(*changeableByOthers("/p.so", fileOf(1000, 0644), 33),
              HasSubstr("/p.so belongs to user 1000"));
}

TEST(FileTrust, AnotherUsersIsNotSafeForRootEither) {
  EXPECT_THAT(*changeableByOthers("/p.so", fileOf(1000, 0644), 0), HasSubstr("user 1000"));
}

TEST(FileTrust, WhatTheGroupOrTheWorldCanWriteIsNot) {
  EXPECT_THAT(*changeableByOthers("/p.so", fileOf(0, 0664), 0), HasSubstr("chmod go-w /p.so"));
  EXPECT_THAT(*changeableByOthers("/p.so", fileOf(0, 0646), 0), HasSubstr("chmod go-w /p.so"));
}

// The fingerprint tells compilers apart, not headers: a plugin built before one of these changed
// would be loaded and crash. Whoever changes a size raises LARDER_ABI_MAJOR, then the number here.
TEST(PluginAbi, TypesThatCrossKeepTheirSizes) {
  static_assert(LARDER_ABI_MAJOR == 1);
  struct Type {
    const char* name;
    std::size_t size;
    std::size_t agreed;
  };
  for (const Type& type : std::initializer_list<Type>{
           {"larder_descriptor", sizeof(larder_descriptor), 72},
           {"CacheKey", sizeof(CacheKey), 40},
           {"CacheEntry", sizeof(CacheEntry), 128},
           {"EntryRef", sizeof(EntryRef), 16},
           {"Value", sizeof(Value), 8},
           {"Page", sizeof(Page), 200},
           {"Document", sizeof(Document), 40},
           {"Node", sizeof(Node), 16},
           {"Lookup", sizeof(Lookup), 32},
           {"Stored", sizeof(Stored), 2},
           {"Health", sizeof(Health), 40},
           {"Buffer", sizeof(Buffer), 32},
           {"ByteLookup", sizeof(ByteLookup), 48},
           {"SettingSpec", sizeof(SettingSpec), 40},
           {"Settings", sizeof(Settings), 48},
           {"ServerReport", sizeof(ServerReport), 120},
           {"Object", sizeof(Object), 280},
           {"ChildrenQuery", sizeof(ChildrenQuery), 120},
           {"User", sizeof(User), 96},
           {"Receipt", sizeof(Receipt), 16},
       }) {
    EXPECT_EQ(type.size, type.agreed) << type.name;
  }
}

}  // namespace
}  // namespace larder
