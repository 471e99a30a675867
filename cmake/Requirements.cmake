# What must be there before anything is looked for in turn: `pip install .` from a clone ends here, with
# all that is missing in one message.
function(refuse_without missing)
  list(JOIN missing ", " missing)
  message(FATAL_ERROR "Vernier is built with these, which were not found: ${missing}.\n"
    "In a clone on Debian or Ubuntu, scripts/setup.sh build installs all of them. Elsewhere, install what "
    "these are the packages of: g++ pkg-config protobuf-compiler libprotobuf-dev libcli11-dev "
    "nlohmann-json3-dev libfmt-dev libhwy-dev libzip-dev zlib1g-dev libjpeg-dev libpng-dev libwebp-dev; "
    "set ONNXRUNTIME_ROOT to a folder with include/, lib/ and share/onnx.proto, and DUCKDB_ROOT to one with "
    "include/duckdb.h.")
endfunction()

# Before project(), which ends where there is none. CXX is set by whoever calls, and by pip: to the one that
# its Python was built with, which need not be there.
function(require_compiler)
  if(DEFINED CMAKE_CXX_COMPILER)
    return()
  endif()
  set(names c++ g++ clang++)
  set(wanted "a C++ compiler")
  if(DEFINED ENV{CXX})
    separate_arguments(command UNIX_COMMAND "$ENV{CXX}")
    list(GET command 0 names)
    set(wanted "the C++ compiler ${names}")
  endif()
  find_program(compiler NAMES ${names} NO_CACHE)
  if(NOT compiler)
    refuse_without("${wanted}")
  endif()
endfunction()

function(require_libraries)
  set(missing)
  foreach(package fmt nlohmann_json CLI11 Protobuf)
    find_package(${package} QUIET)
    if(NOT ${package}_FOUND)
      list(APPEND missing ${package})
    endif()
  endforeach()
  if(NOT Protobuf_PROTOC_EXECUTABLE)
    list(APPEND missing protoc)
  endif()
  find_package(PkgConfig QUIET)
  if(PKG_CONFIG_FOUND)
    foreach(library libhwy libzip libjpeg libpng libwebp zlib)
      pkg_check_modules(found_${library} QUIET ${library})
      if(NOT found_${library}_FOUND)
        list(APPEND missing ${library})
      endif()
    endforeach()
  else()
    list(APPEND missing pkg-config)
  endif()
  if(NOT DEFINED ENV{ONNXRUNTIME_ROOT} AND NOT ONNXRUNTIME_ROOT
     AND NOT EXISTS ${PROJECT_SOURCE_DIR}/.deps/onnxruntime AND NOT EXISTS /usr/include/onnxruntime)
    list(APPEND missing "the headers of ONNX Runtime")
  endif()
  if(NOT DEFINED ENV{DUCKDB_ROOT} AND NOT DUCKDB_ROOT AND NOT EXISTS ${PROJECT_SOURCE_DIR}/.deps/duckdb
     AND NOT EXISTS /usr/include/duckdb.h)
    list(APPEND missing "the header of DuckDB")
  endif()
  if(missing)
    refuse_without("${missing}")
  endif()
endfunction()
