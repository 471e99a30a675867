# What must be there before anything is looked for in turn: `pip install .` from a clone ends here, with
# all that is missing in one message.
set(missing)
foreach(package fmt nlohmann_json CLI11 Protobuf)
  find_package(${package} QUIET)
  if(NOT ${package}_FOUND)
    list(APPEND missing ${package})
  endif()
endforeach()
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
if(missing)
  list(JOIN missing ", " missing)
  message(FATAL_ERROR "Vernier is built with these, which were not found: ${missing}.\n"
    "On Debian or Ubuntu: apt install g++ pkg-config protobuf-compiler libprotobuf-dev libcli11-dev "
    "nlohmann-json3-dev libfmt-dev libhwy-dev libzip-dev zlib1g-dev libjpeg-dev libpng-dev libwebp-dev\n"
    "In a clone, scripts/setup.sh build installs all that is needed.")
endif()
if(NOT DEFINED ENV{ONNXRUNTIME_ROOT} AND NOT ONNXRUNTIME_ROOT
   AND NOT EXISTS ${PROJECT_SOURCE_DIR}/.deps/onnxruntime AND NOT EXISTS /usr/include/onnxruntime)
  message(FATAL_ERROR "The headers of ONNX Runtime were not found: run scripts/setup.sh build, or set "
    "ONNXRUNTIME_ROOT to a folder with include/, lib/ and share/onnx.proto")
endif()
