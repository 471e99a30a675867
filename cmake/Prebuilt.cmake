# The library and the commands from the build folder VERNIER_PREBUILT, where they were made before: only
# the Python module is compiled. For wheels of several Pythons, and for the tests.
find_package(fmt REQUIRED)
file(GLOB library ${VERNIER_PREBUILT}/lib/libvernier.so.*.*.*)
list(GET library 0 library)
add_library(vernier SHARED IMPORTED)
set_target_properties(vernier PROPERTIES IMPORTED_LOCATION ${library}
  IMPORTED_SONAME libvernier.so.${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
target_include_directories(vernier INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_features(vernier INTERFACE cxx_std_20)
add_library(vernier_commands STATIC IMPORTED)
set_target_properties(vernier_commands PROPERTIES
  IMPORTED_LOCATION ${VERNIER_PREBUILT}/libvernier_commands.a)
target_link_libraries(vernier_commands INTERFACE vernier)
