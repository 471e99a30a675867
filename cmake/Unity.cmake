# unity_build(TARGET SOURCE...): compiles the sources together, ten neighbours of a folder at a time, which
# takes a third of the time: headers are read and templates are compiled once for all ten. Grouped by
# folder, so that a new file does not rebuild the others. Sources with options of their own, and those that
# Highway includes once for each CPU, stay alone.
option(VERNIER_UNITY "Compile several sources at a time" ON)

function(unity_build target)
  if(NOT VERNIER_UNITY)
    return()
  endif()
  set(last_folder "")
  foreach(source ${ARGN})
    get_filename_component(folder ${source} DIRECTORY)
    if(NOT folder STREQUAL last_folder)
      set(count 0)
      set(last_folder ${folder})
    endif()
    file(STRINGS ${source} highway REGEX "foreach_target.h" LIMIT_COUNT 1)
    if(highway)
      continue()
    endif()
    file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${folder})
    string(MAKE_C_IDENTIFIER ${name} name)
    math(EXPR group "${count} / 10")
    math(EXPR count "${count} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${name}_${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # What is private to one source is a global to its neighbours.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-shadow -Wshadow=local -Wno-subobject-linkage>)
endfunction()
