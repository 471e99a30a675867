# The Python package: the module _vernier on nanobind, around it python/vernier, and the program.
# `pip install .` and `make wheel` build it. In the package libvernier.so lies in lib/, its companions in
# lib/vernier/; the program lies in the environment's bin/ and finds the library from there.
find_package(Python 3.10 REQUIRED COMPONENTS Interpreter Development.Module
  OPTIONAL_COMPONENTS Development.SABIModule)
if(NOT nanobind_DIR)
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
    OUTPUT_STRIP_TRAILING_WHITESPACE OUTPUT_VARIABLE nanobind_DIR RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${Python_EXECUTABLE} has no nanobind: pip install nanobind")
  endif()
endif()
find_package(nanobind CONFIG REQUIRED)

file(GLOB binding_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/binding/*.cpp)
nanobind_add_module(_vernier STABLE_ABI NB_STATIC NB_DOMAIN vernier ${binding_sources})
target_link_libraries(_vernier PRIVATE vernier_commands fmt::fmt)
target_include_directories(_vernier PRIVATE ${PROJECT_SOURCE_DIR})
set_target_properties(_vernier PROPERTIES INSTALL_RPATH "$ORIGIN/lib")
foreach(target nanobind-static nanobind-static-abi3) # not ours
  if(TARGET ${target})
    target_compile_options(${target} PRIVATE -w)
  endif()
endforeach()

# One wheel serves every Python from 3.12 on: the program looks in the folders of each.
set(script_rpath)
set(first ${Python_VERSION_MINOR})
set(last ${Python_VERSION_MINOR})
if(Python_VERSION_MINOR GREATER_EQUAL 12)
  set(first 12)
  set(last 20)
endif()
foreach(minor RANGE ${first} ${last})
  foreach(folder lib/python3.${minor}/site-packages lib/python3.${minor}/dist-packages lib64/python3.${minor}/site-packages)
    list(APPEND script_rpath "$ORIGIN/../${folder}/vernier/lib")
  endforeach()
endforeach()
add_executable(vernier_script ${PROJECT_SOURCE_DIR}/cli/main.cpp)
set_target_properties(vernier_script PROPERTIES OUTPUT_NAME vernier INSTALL_RPATH "${script_rpath}"
  RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/script)
target_include_directories(vernier_script PRIVATE ${PROJECT_SOURCE_DIR})
# auditwheel does not see the program: it may need no library that is not in the package.
find_library(FMT_ARCHIVE libfmt.a NO_CACHE)
target_link_libraries(vernier_script PRIVATE vernier_commands $<IF:$<BOOL:${FMT_ARCHIVE}>,${FMT_ARCHIVE},fmt::fmt>)

set(in_wheel COMPONENT python EXCLUDE_FROM_ALL)
install(TARGETS _vernier DESTINATION vernier ${in_wheel})
install(PROGRAMS $<TARGET_FILE:vernier> DESTINATION vernier/lib RENAME $<TARGET_SONAME_FILE_NAME:vernier> ${in_wheel})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/vernier_export ${PROJECT_SOURCE_DIR}/python/vernier_host
  DESTINATION vernier/lib/vernier/python ${in_wheel} PATTERN __pycache__ EXCLUDE)
if(DEFINED SKBUILD_SCRIPTS_DIR)
  install(TARGETS vernier_script DESTINATION ${SKBUILD_SCRIPTS_DIR} ${in_wheel})
endif()
