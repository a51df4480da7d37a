#include "larder/server/config.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "larder/test/paths.h"
#include "running_settings.h"

namespace larder::server {
namespace {

std::string errorOf(std::string_view text, std::vector<Override> overrides = {}) {
  const auto config = parseConfig(text, "conf.toml", overrides);
  return config ? "no error" : config.error().message;
}

struct Fault {
  const char* name;
  const char* text;
  const char* message;  ///< the beginning of the one message
  const char* hint;     ///< held by it
};

class ConfigFault : public ::testing::TestWithParam<Fault> {};

TEST_P(ConfigFault, IsOneMessageWithFileAndLine) {
  const std::string error = errorOf(GetParam().text);
  EXPECT_TRUE(error.starts_with(GetParam().message)) << error;
  EXPECT_NE(error.find(GetParam().hint), std::string::npos) << error;
  EXPECT_EQ(error.find('\n'), std::string::npos) << error;
}

constexpr const char* kManager = "[[manager]]\nid = \"fast\"\ntype = \"RAMCache\"\n";

const Fault kFaults[] = {
    {"NotToml", "[http\nport = 1\n", "conf.toml:1: not valid TOML:", ""},
    {"DuplicateKey", "[http]\nport = 1\nport = 2\n", "conf.toml:3: not valid TOML:", ""},
    {"UnknownTable", "[htp]\nport = 1\n", "conf.toml:1: unknown table 'htp'",
     "did you mean 'http'"},
    {"UnknownTopKey", "port = 1\n", "conf.toml:1: unknown key 'port'", ""},
    {"UnknownKey", "[http]\nadress = \"::1\"\n", "conf.toml:2: unknown setting 'adress'",
     "did you mean 'address'"},
    {"WrongType", "[http]\nport = \"80\"\n", "conf.toml:2: 'port': \"80\" is not a whole number",
     ""},
    {"PortTooLarge", "[http]\nport = 70000\n", "conf.toml:2: 'port': must be between 0 and 65535",
     ""},
    {"BareDuration", "[http]\nidle_timeout = 65\n", "conf.toml:2: 'idle_timeout': ", "s"},
    {"NegativeDuration", "[http]\nidle_timeout = \"-5s\"\n",
     "conf.toml:2: 'idle_timeout': ", "-5s"},
    {"ZeroTimeout", "[http]\nidle_timeout = \"0s\"\n",
     "conf.toml:2: 'idle_timeout': must be longer", ""},
    {"BareSize", "[http]\nmax_body = 1000000\n", "conf.toml:2: 'max_body': ", "1000000"},
    {"Date", "[site]\nname = 2026-01-01\n", "conf.toml:2: 'name' cannot be a date", ""},
    {"NestedTable", "[site.more]\nx = 1\n", "conf.toml:1: 'more' cannot be a table", ""},
    {"TableInsteadOfList", "[manager]\nid = \"fast\"\n", "conf.toml:1: 'manager' must be a list",
     "[[manager]]"},
    {"ManagementOnTheNetwork", "[management]\naddress = \"0.0.0.0\"\n",
     "conf.toml:2: 'address': the management port stays on this machine", "127.0.0.1"},
    {"UnknownLogLevel", "[log]\nlevel = \"warn\"\n", "conf.toml:2: 'level': 'warn' is unknown",
     "warning"},
    {"RelativePluginFolder", "[plugins]\nfolders = [\"lib\"]\n",
     "conf.toml:2: 'folders': 'lib' must be", "absolute"},
    {"ManagerWithoutId", "\n[[manager]]\ntype = \"RAMCache\"\n",
     "conf.toml:2: [[manager]]: 'id' is missing", ""},
    {"ManagerNamedNone", "[[manager]]\nid = \"none\"\ntype = \"RAMCache\"\n",
     "conf.toml:2: 'id': 'none' cannot name a manager", ""},
    {"DuplicateManager",
     "[[manager]]\nid = \"a\"\ntype = \"RAMCache\"\n[[manager]]\nid = \"a\"\ntype = \"RAMCache\"\n",
     "conf.toml:5: 'id': 'a' at / is defined in conf.toml:1 already", "another id or path"},
    {"TwoDefaults",
     "[[manager]]\nid = \"a\"\ntype = \"RAMCache\"\ndefault = true\n"
     "[[manager]]\nid = \"b\"\ntype = \"RAMCache\"\ndefault = true\n",
     "conf.toml:8: 'default': / has a default manager already, 'a'", ""},
    {"ManagerPath", "[[manager]]\nid = \"a\"\ntype = \"RAMCache\"\npath = \"/a/\"\n",
     "conf.toml:4: 'path': '/a/' is not a path", ""},
    {"ZopesZero", "[[manager]]\nid = \"a\"\ntype = \"RAMCache\"\nmax_age = 0\n",
     "conf.toml:4: 'max_age': 0 has no unit", "\"forever\" for what Zope's 0 meant"},
    {"NegativeMaxAge", "[[manager]]\nid = \"a\"\ntype = \"RAMCache\"\nmax_age = \"-1s\"\n",
     "conf.toml:4: 'max_age': ", "-1s"},
    {"JitterAboveOne", "[[manager]]\nid = \"a\"\ntype = \"RAMCache\"\njitter = 2\n",
     "conf.toml:4: jitter must be between 0 and 1", ""},
    {"UnknownMode", "[[manager]]\nid = \"a\"\ntype = \"RAMCache\"\nmode = \"declare\"\n",
     "conf.toml:4: mode: 'declare' is unknown", "declared"},
    {"UnknownInput", "[[rule]]\npath = \"/**\"\nrequest_vars = [\"parm:x\"]\n",
     "conf.toml:3: request_vars: 'parm:x' is not an input", "param:NAME"},
    {"RuleOfUnknownManager",
     "[[manager]]\nid = \"fast\"\ntype = \"RAMCache\"\n[[rule]]\npath = \"/**\"\nmanager = "
     "\"fats\"\n",
     "conf.toml:6: 'manager': no manager has the id 'fats'", "did you mean 'fast'"},
    {"UnknownKeyOfARule", "[[rule]]\npath = \"/**\"\nmaxage = \"1h\"\n",
     "conf.toml:3: unknown setting 'maxage' of a rule", "max_age"},
    {"RulePattern", "[[rule]]\npath = \"a/**\"\n",
     "conf.toml:2: 'path': path 'a/**' must begin with a slash", ""},
    {"AppWithoutContent", "[[app]]\nmount = \"/a\"\n",
     "conf.toml:1: [[app]] at '/a' needs a folder", ""},
    {"MountTwice",
     "[[app]]\nmount = \"/a\"\nfolder = \"x\"\n[[app]]\nmount = \"/a\"\nfolder = \"y\"\n",
     "conf.toml:5: 'mount': '/a' is taken by the app of conf.toml:1", ""},
    {"LibraryPath", "[[app]]\nmount = \"/a\"\nlibrary = \"x/y.so\"\n",
     "conf.toml:3: 'library': is a file name", "app_folders"},
    {"PublishElsewhere", "[[rule]]\npath = \"/**\"\npublish = \"ngnix\"\n",
     "conf.toml:3: publish: 'ngnix' is unknown", "did you mean 'nginx'"},
    {"PublishedForEver", "[[rule]]\npath = \"/**\"\npublish_max_age = \"forever\"\n",
     "conf.toml:3: publish_max_age must be between \"1s\" and \"24h\"", ""},
    {"NginxDirective", "[nginx]\nlisten = \"80; evil\"\n",
     "conf.toml:2: 'listen': '80; evil' cannot be written", "nginx"},
    {"NginxVariable", "[nginx]\nprefix = \"$args\"\n", "conf.toml:2: 'prefix': takes letters",
     "$host once"},
    {"NginxType", "[nginx]\ntypes = [\"/api\"]\n", "conf.toml:2: 'types': '/api': write",
     "/api application/json"},
    {"NginxTypeTwice", "[nginx]\ntypes = [\"/api application/json\", \"/api text/plain\"]\n",
     "conf.toml:2: 'types': '/api' is listed twice", ""},
    {"Proxy", "[http]\nproxies = [\"nginx.example.org\"]\n",
     "conf.toml:2: 'proxies': 'nginx.example.org' is no address or network", "10.0.0.0/8"},
    {"NginxMemcached", "[nginx]\nmemcached = \"localhost\"\n", "conf.toml:2: 'memcached': must be",
     "host:port"},
    {"UnsetVariable", "[site]\ndata = \"${LARDER_TEST_UNSET}/x\"\n",
     "conf.toml:2: 'data': the environment variable 'LARDER_TEST_UNSET' is not set", ""},
    {"OpenVariable", "[site]\ndata = \"${HOME\"\n", "conf.toml:2: 'data': '${' is not closed", ""},
};

INSTANTIATE_TEST_SUITE_P(Semantics42, ConfigFault, ::testing::ValuesIn(kFaults),
                         [](const auto& fault) { return std::string(fault.param.name); });

TEST(Config, FaultA22_NginxInFrontThatNobodyBelievesIsWarnedOf) {
  const std::string rule = "[[rule]]\npath = \"/**\"\npublish = \"nginx\"\n";
  EXPECT_NE(parseConfig(rule, "conf.toml", {})->warnings.at(0).find("proxies = [\"127.0.0.1\"]"),
            std::string::npos);
  EXPECT_TRUE(
      parseConfig("[http]\nproxies = [\"::1\"]\n" + rule, "conf.toml", {})->warnings.empty());
  EXPECT_TRUE(parseConfig("", "conf.toml", {})->warnings.empty());
}

TEST(Config, EmptyFileYieldsTheDefaults) {
  const auto config = parseConfig("", "conf.toml", {});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->http.host, "127.0.0.1");
  EXPECT_EQ(config->http.port, 8080);
  EXPECT_EQ(config->management.port, 8081);
  EXPECT_EQ(config->data, "var");
}

TEST(Config, ReadsUnits) {
  const auto config =
      parseConfig("[http]\nidle_timeout = \"1m30s\"\nmax_body = \"1M\"\n", "conf.toml", {});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->http.idle_deadline, 90'000);
  EXPECT_EQ(config->http.limits.body, 1U << 20);
}

TEST(Config, SeparatesPolicyFromPluginSettings) {
  const auto config = parseConfig(std::string(kManager) + "max_size = \"64M\"\nmax_age = \"10m\"\n",
                                  "conf.toml", {});
  ASSERT_TRUE(config) << config.error().message;
  ASSERT_EQ(config->managers.size(), 1U);
  const ManagerConfig& manager = config->managers[0];
  EXPECT_EQ(manager.policy.max_age, 600'000);
  ASSERT_EQ(manager.plugin.size(), 1U);
  EXPECT_EQ(manager.plugin.begin()->second.origin, "conf.toml:4");
}

TEST(Config, EveryFaultIsReported) {
  const std::string error = errorOf("[http]\nport = -1\n[log]\nlevel = \"loud\"\n");
  EXPECT_NE(error.find("conf.toml:2"), std::string::npos);
  EXPECT_NE(error.find("conf.toml:4"), std::string::npos);
}

TEST(Config, OverrideWinsAndSaysSo) {
  const auto config =
      parseConfig("[http]\nport = 80\n", "conf.toml", std::vector<Override>{{"http.port", "81"}});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->http.port, 81);
  const auto shown = std::ranges::find(config->shown, "http.port", &ShownSetting::name);
  EXPECT_EQ(shown->origin, "-D http.port=81");
}

TEST(Config, OverrideReachesAManagerById) {
  const auto config =
      parseConfig(kManager, "conf.toml", std::vector<Override>{{"manager.fast.max_age", "5s"}});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->managers[0].policy.max_age, 5000);
}

TEST(Config, OverrideReachesRulesByPath) {
  const auto config =
      parseConfig(std::string(kManager) + "[[rule]]\npath = \"/a/**\"\n", "conf.toml",
                  std::vector<Override>{{"rule./a/**.manager", "none"}});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->rules[0].manager, "none");
}

TEST(Config, OverrideTakesListsAsToml) {
  const auto config = parseConfig(
      kManager, "conf.toml", std::vector<Override>{{"manager.fast.servers", R"(["a:1", "b:2"])"}});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(
      std::get<std::vector<std::string>>(config->managers[0].plugin.at("servers").value).size(),
      2U);
}

TEST(Config, OverrideOfAnUnknownManagerIsRefused) {
  EXPECT_EQ(errorOf(kManager, {{"manager.slow.max_age", "5s"}}),
            "-D manager.slow.max_age=5s: the file has no manager 'slow'");
}

TEST(Config, OverrideOfAnUnknownTableSuggestsOne) {
  EXPECT_NE(errorOf("", {{"htp.port", "1"}}).find("did you mean 'http'"), std::string::npos);
}

TEST(Config, OverrideNeedsAnEqualsSign) {
  EXPECT_FALSE(parseOverride("http.port"));
}

TEST(Config, ExpandsTheEnvironment) {
  ::setenv("LARDER_TEST_DATA", "/srv/x", 1);
  const auto config = parseConfig("[site]\ndata = \"${LARDER_TEST_DATA}/data\"\nname = \"$${x}\"\n",
                                  "conf.toml", {});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_EQ(config->data, "/srv/x/data");
  EXPECT_EQ(config->site_name, "${x}");
}

TEST(Config, WarnsOfAManagerOutOfReach) {
  const auto config = parseConfig(
      "[[manager]]\nid = \"a\"\ntype = \"RAMCache\"\npath = \"/x\"\n[[rule]]\npath = "
      "\"/y/**\"\nmanager = \"a\"\n",
      "conf.toml", {});
  ASSERT_TRUE(config) << config.error().message;
  ASSERT_EQ(config->warnings.size(), 1U);
  EXPECT_TRUE(
      config->warnings[0].starts_with("conf.toml:5: no manager 'a' is at or above '/y/**'"));
}

TEST(Config, WildcardMayReachAManagerBelow) {
  const auto config = parseConfig(
      "[[manager]]\nid = \"a\"\ntype = \"RAMCache\"\npath = \"/x\"\n[[rule]]\npath = "
      "\"/**\"\nmanager = \"a\"\n",
      "conf.toml", {});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_TRUE(config->warnings.empty());
}

TEST(Config, SettingsInForceGiveTheSameAgainWhateverTheFileSaysByNow) {
  const auto running = parseConfig(
      "[site]\nname = 'a\"b\\c$${d}'\n[http]\nhosts = [\"example.org\"]\nport = 0\n"
      "[log]\nfile = \"x\\ny\"\nlevel = \"error\"\n",
      "conf.toml", {});
  ASSERT_TRUE(running) << running.error().message;
  const auto other = parseConfig("[store]\nkeep_log = 5000\n", "conf.toml", {});
  ASSERT_TRUE(other);
  EXPECT_FALSE(waitingForRestart(*running, *other).empty());
  const auto again =
      parseConfig("[store]\nkeep_log = 5000\n", "conf.toml", settingsInForce(*running));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(waitingForRestart(*running, *again), std::vector<std::string>());
  EXPECT_EQ(again->site_name, "a\"b\\c${d}");
  EXPECT_EQ(again->store.keep_log, running->store.keep_log);
  EXPECT_EQ(again->log.level, LogLevel::info);  // follows a reload, as that of the others did
}

TEST(Config, MissingFileIsNamed) {
  const auto config = loadConfig("/nowhere/larder.toml", {});
  ASSERT_FALSE(config);
  EXPECT_TRUE(config.error().message.starts_with("/nowhere/larder.toml: cannot be read"));
}

TEST(Config, ShippedFileIsValid) {
  const auto config = loadConfig(test::sourceDir() + "/conf/larder.toml", {});
  ASSERT_TRUE(config) << config.error().message;
  EXPECT_TRUE(config->warnings.empty());
}

}  // namespace
}  // namespace larder::server
