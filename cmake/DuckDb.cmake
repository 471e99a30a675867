# DuckDb::Headers: duckdb.h, and where libduckdb.so was at build time. The library is opened when a
# Parquet file is, not linked. DUCKDB_ROOT (cache, then environment), else what scripts/setup.sh makes.
if(DEFINED ENV{DUCKDB_ROOT})
  set(default_root $ENV{DUCKDB_ROOT})
else()
  set(default_root ${PROJECT_SOURCE_DIR}/.deps/duckdb)
endif()
set(DUCKDB_ROOT ${default_root} CACHE PATH "Prefix with include/duckdb.h and lib/libduckdb.so")

find_path(DUCKDB_INCLUDE_DIR duckdb.h HINTS ${DUCKDB_ROOT}/include NO_CACHE REQUIRED)
add_library(DuckDb::Headers INTERFACE IMPORTED)
set_target_properties(DuckDb::Headers PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES ${DUCKDB_INCLUDE_DIR})
# Only the file that loads it: a path in every command line would make every compilation differ.
set_source_files_properties(vernier/data/duckdb_query.cpp PROPERTIES
  COMPILE_DEFINITIONS VERNIER_DUCKDB_LIBRARY="${DUCKDB_ROOT}/lib/libduckdb.so")
