# vernier_torch: the PyTorch runner, a module that the program loads only when a reference is a
# TorchScript file. Linking libtorch into the program would cost every start about 700 ms.
set(VERNIER_TORCH_VERSION "")
if(VERNIER_TORCH)
  find_package(Torch QUIET)
endif()
if(Torch_FOUND)
  set(VERNIER_TORCH_VERSION ${Torch_VERSION})
  file(GLOB torch_sources CONFIGURE_DEPENDS vernier/runtime/torch_module/*.cpp)
  if(torch_sources)
    add_library(vernier_torch MODULE ${torch_sources}
      vernier/tensor/dtype.cpp vernier/tensor/tensor.cpp)
    target_include_directories(vernier_torch PRIVATE ${CMAKE_SOURCE_DIR})
    target_include_directories(vernier_torch SYSTEM PRIVATE ${TORCH_INCLUDE_DIRS})
    target_link_libraries(vernier_torch PRIVATE ${TORCH_LIBRARIES} fmt::fmt)
    if(VERNIER_SANITIZE) # libtorch hides the type information that the vptr check refers to
      target_compile_options(vernier_torch PRIVATE -fno-sanitize=vptr)
    endif()
    add_dependencies(vernier_cli vernier_torch)
  endif()
endif()
set_source_files_properties(vernier/version.cpp PROPERTIES COMPILE_DEFINITIONS
  "VERNIER_VERSION=\"${PROJECT_VERSION}\";VERNIER_TORCH_VERSION=\"${VERNIER_TORCH_VERSION}\"")
