# libzip: the system's; or libzip.a of the prefix LIBZIP_ROOT, for wheels, where the system's would bring
# OpenSSL along.
set(LIBZIP_ROOT "" CACHE PATH "Prefix with include/zip.h and lib/libzip.a; empty: the system's libzip")
if(LIBZIP_ROOT)
  set(libzip ${LIBZIP_ROOT}/lib/libzip.a)
  set_source_files_properties(vernier/tensor/npz_reader.cpp vernier/tensor/npz_writer.cpp
    vernier/tensor/zip_records.cpp PROPERTIES COMPILE_OPTIONS "-isystem;${LIBZIP_ROOT}/include")
else()
  pkg_check_modules(ZIP REQUIRED IMPORTED_TARGET libzip)
  set(libzip PkgConfig::ZIP)
endif()
