# concurrent_test: the parts that run on several threads and know nothing of ONNX Runtime, with their
# tests, under ThreadSanitizer. Built by `make tsan` only.
file(GLOB concurrent_sources CONFIGURE_DEPENDS vernier/*.cpp vernier/tensor/*.cpp vernier/metrics/*.cpp vernier/data/*.cpp)
list(FILTER concurrent_sources EXCLUDE REGEX "/vernier/(version|vernier)\\.cpp$")
add_executable(concurrent_test EXCLUDE_FROM_ALL ${concurrent_sources}
  vernier/analysis/pairing/lockstep.cpp vernier/runtime/recorded_runner.cpp vernier/runtime/runner.cpp
  tests/metrics/parallel_test.cpp tests/metrics/neighbours_test.cpp tests/data/prefetch_test.cpp
  tests/data/loader_test.cpp tests/analysis/pairing/lockstep_test.cpp)
target_include_directories(concurrent_test PRIVATE ${PROJECT_SOURCE_DIR})
target_compile_options(concurrent_test PRIVATE -fsanitize=thread -O1 -g1)
target_link_options(concurrent_test PRIVATE -fsanitize=thread)
target_link_libraries(concurrent_test PRIVATE fmt::fmt nlohmann_json::nlohmann_json PkgConfig::HWY
  PkgConfig::ZIP PkgConfig::IMAGES DuckDb::Headers ZLIB::ZLIB Threads::Threads ${CMAKE_DL_LIBS}
  GTest::gmock GTest::gtest_main)
