# The packages Larder is built from. Also installed: a user of the static libraries needs the same ones.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(Poco 1.11 REQUIRED COMPONENTS Foundation Util Net)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(ZLIB REQUIRED)
find_package(msgpack REQUIRED CONFIG)  # target msgpackc-cxx
find_package(SQLite3 3.40 REQUIRED)

foreach(larder_module IN ITEMS
    "SODIUM libsodium>=1.0.18" "XXHASH libxxhash>=0.8" "ZSTD libzstd>=1.5" "LUA lua5.4-c++" "RE2 re2"
    "CTEMPLATE libctemplate")
  separate_arguments(larder_module)
  list(GET larder_module 0 larder_prefix)
  list(GET larder_module 1 larder_spec)
  pkg_check_modules(${larder_prefix} REQUIRED IMPORTED_TARGET GLOBAL ${larder_spec})
endforeach()
unset(larder_module)
unset(larder_prefix)
unset(larder_spec)
