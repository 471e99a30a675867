# vernier_torch: the PyTorch runner, a module that the library loads only when a reference is a
# TorchScript file. Linking libtorch into the library would cost every start about 700 ms.
set(VERNIER_TORCH_VERSION "")
if(VERNIER_TORCH)
  find_package(Torch QUIET)
endif()
if(Torch_FOUND)
  set(VERNIER_TORCH_VERSION ${Torch_VERSION})
endif()
set(version_definitions "VERNIER_VERSION=\"${PROJECT_VERSION}\";VERNIER_TORCH_VERSION=\"${VERNIER_TORCH_VERSION}\"")
set_source_files_properties(vernier/version.cpp vernier/runtime/torch_runner.cpp
  PROPERTIES COMPILE_DEFINITIONS "${version_definitions}")
if(Torch_FOUND)
  file(GLOB torch_sources CONFIGURE_DEPENDS vernier/runtime/torch_module/*.cpp)
  add_library(vernier_torch MODULE ${torch_sources})
  set_target_properties(vernier_torch PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/${companions}
    INSTALL_RPATH "$ORIGIN/.." INSTALL_RPATH_USE_LINK_PATH ON)
  # libtorch's headers take most of a minute to read: once is enough.
  unity_build(vernier_torch ${torch_sources})
  target_include_directories(vernier_torch SYSTEM PRIVATE ${TORCH_INCLUDE_DIRS})
  target_link_libraries(vernier_torch PRIVATE vernier ${TORCH_LIBRARIES} fmt::fmt)
  # g++ 12 and later see overflows in libtorch's inlined code that are none.
  target_compile_options(vernier_torch PRIVATE -Wno-stringop-overflow -Wno-array-bounds)
  target_compile_definitions(vernier_torch PRIVATE ${version_definitions})
  if(VERNIER_SANITIZE) # libtorch hides the type information that the vptr check refers to
    target_compile_options(vernier_torch PRIVATE -fno-sanitize=vptr)
  endif()
endif()
