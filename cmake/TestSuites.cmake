# add_test_suites(PROGRAM PREFIX): one test of ctest, PREFIX.Suite, for each suite of a GoogleTest program. The
# tests of a suite share a process: loading PyTorch, or making a model, costs more than most of them. The suites are
# listed when ctest starts, so that a new one needs no configuring. Those that take minutes start first, so that
# none of them runs alone at the end.
set(slow_suites "DecoderCommand|Commands/Parts|Commands/Hostile|PyTorchHost|WildPairs|Tune|DiagnoseCommand|DynamoExport")
function(add_test_suites program prefix)
  set(script ${CMAKE_CURRENT_BINARY_DIR}/${program}_suites.cmake)
  file(GENERATE OUTPUT ${script} CONTENT
"execute_process(COMMAND $<TARGET_FILE:${program}> --gtest_list_tests OUTPUT_VARIABLE listed RESULT_VARIABLE failed)
if(failed)
  add_test(${prefix}.NOT_BUILT $<TARGET_FILE:${program}>)
endif()
string(REGEX MATCHALL \"\\n[A-Za-z0-9_/]+[.]\" suites \"\\n\${listed}\")
foreach(suite \${suites})
  string(REGEX REPLACE \"[.\\n]\" \"\" suite \${suite})
  add_test(\"${prefix}.\${suite}\" $<TARGET_FILE:${program}> --gtest_brief=1 \"--gtest_filter=\${suite}.*\")
  if(suite MATCHES \"^(${slow_suites})$\")
    set_tests_properties(\"${prefix}.\${suite}\" PROPERTIES COST 50)
  endif()
endforeach()
")
  set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES ${script})
endfunction()
