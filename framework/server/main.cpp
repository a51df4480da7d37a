// larder: serves a site, and what belongs to that. The commands are in larder/server/commands.h.
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "larder/server/commands.h"

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    return larder::server::runCommand(arguments);
  } catch (const std::exception& e) {
    std::cerr << "larder: " << e.what() << std::endl;
    return 2;
  }
}
