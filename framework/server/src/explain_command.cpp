// larder explain: asked of the running server.
#include <iostream>

#include "command_support.h"
#include "explanation.h"
#include "larder/server/commands.h"
#include "management_client.h"
#include "text_table.h"

namespace larder::server {
namespace {

/// As a value in a query.
std::string encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  constexpr std::string_view kPlain = "-._~/";
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       kPlain.find(c) != std::string_view::npos;
    if (plain) {
      out += c;
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out += {'%', kDigits[byte >> 4U], kDigits[byte & 15U]};
    }
  }
  return out;
}

void makePrintable(nlohmann::json& value) {
  if (value.is_string()) {
    value = printable(value.get<std::string>());
  } else if (value.is_structured()) {
    for (auto& part : value) makePrintable(part);
  }
}

}  // namespace

int explainCommand(const CommandLine& line) {
  const auto config = configOf(line);
  if (!config) return kCannotStart;
  const auto undone = [](const Error& error) {
    std::cerr << error.message << std::endl;
    return kUndone;
  };
  auto client = ManagementClient::of(*config);
  if (!client) return undone(client.error());
  auto report = client->get("/@@explain?url=" + encoded(line.arguments.front()));
  if (!report) return undone(report.error());
  if (line.has("--json")) {
    std::cout << report->dump(2) << std::endl;
    return 0;
  }
  makePrintable(*report);
  const auto& processes = report->at("processes");
  for (const auto& process : processes) {
    if (processes.size() > 1) std::cout << "process   " << process.at("worker") << '\n';
    if (process.contains("error"))
      std::cout << process.at("error").get<std::string>() << '\n';
    else
      printExplanation(process, std::cout);
  }
  std::cout << std::flush;
  return 0;
}

}  // namespace larder::server
