# DuckDb::Headers: duckdb.h. The library is opened when a Parquet file is, not linked.
# DUCKDB_ROOT (cache, then environment), else what scripts/setup.sh makes.
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
