# Functions that declare benchmark suites and unit tests, so that every target gets the same warnings and paths.

include_guard(GLOBAL)

set(_BENCHGATE_CMAKE_DIR "${CMAKE_CURRENT_LIST_DIR}")
get_filename_component(_BENCHGATE_ROOT "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)

# The options that every target of this tree is compiled with.
add_library(benchgate_compile_options INTERFACE)
target_compile_features(benchgate_compile_options INTERFACE cxx_std_20)
target_compile_options(
  benchgate_compile_options
  INTERFACE -Wall -Wextra -Wpedantic -Werror
            # The same sources give the same binary wherever they are checked out.
            "-ffile-prefix-map=${_BENCHGATE_ROOT}=.")
target_include_directories(benchgate_compile_options INTERFACE "${_BENCHGATE_ROOT}")
target_link_libraries(benchgate_compile_options INTERFACE Threads::Threads)

# benchgate_library(NAME <name> SOURCES <file>... [LIBRARIES <target>...])
#
# The code under benchmark, shared by its suite and its tests.
function(benchgate_library)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME" "SOURCES;LIBRARIES")
  add_library(${arg_NAME} STATIC ${arg_SOURCES})
  target_link_libraries(${arg_NAME} PUBLIC benchgate_compile_options ${arg_LIBRARIES})
endfunction()

# benchgate_suite(NAME <name> SOURCES <file>... [LIBRARIES <target>...] [SMOKE_FILTER <regex>])
#
# A Google Benchmark program `<name>_benchmark` with the harness's main(), placed directly in the build directory, and
# the test `<name>_smoke`. The test runs every benchmark that SMOKE_FILTER selects (by default all) for an instant, and
# fails if one of them reports an error.
function(benchgate_suite)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "NAME;SMOKE_FILTER" "SOURCES;LIBRARIES")
  if(NOT arg_SMOKE_FILTER)
    set(arg_SMOKE_FILTER ".")
  endif()
  set(target ${arg_NAME}_benchmark)
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE benchgate_harness_main ${arg_LIBRARIES})
  set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
  if(BUILD_TESTING)
    add_test(NAME ${arg_NAME}_smoke
             COMMAND ${CMAKE_COMMAND} "-DPROGRAM=$<TARGET_FILE:${target}>"
                     "-DRESULT=${CMAKE_CURRENT_BINARY_DIR}/${arg_NAME}_smoke.json"
                     "-DFILTER=${arg_SMOKE_FILTER}" -P
                     "${_BENCHGATE_CMAKE_DIR}/SmokeRun.cmake")
    set_tests_properties(${arg_NAME}_smoke PROPERTIES RUN_SERIAL TRUE TIMEOUT 300)
  endif()
endfunction()

# benchgate_test(NAME <name> SOURCES <file>... [LIBRARIES <target>...] [TIMEOUT <seconds>] [RUN_SERIAL])
#
# A GoogleTest program `<name>_test`, which is one ctest. RUN_SERIAL makes ctest run it alone.
function(benchgate_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "RUN_SERIAL" "NAME;TIMEOUT" "SOURCES;LIBRARIES")
  if(NOT BUILD_TESTING)
    return()
  endif()
  set(target ${arg_NAME}_test)
  add_executable(${target} ${arg_SOURCES})
  target_link_libraries(${target} PRIVATE benchgate_compile_options ${arg_LIBRARIES} GTest::gmock
                                          GTest::gtest_main)
  add_test(NAME ${target} COMMAND ${target})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  set_tests_properties(${target} PROPERTIES TIMEOUT ${arg_TIMEOUT} RUN_SERIAL ${arg_RUN_SERIAL})
endfunction()

option(BENCHGATE_LINT_UNIT "Declare the translation unit that ./lint checks" OFF)

# benchgate_lint_unit()
#
# Called after all directories: an object library `lint` of one translation unit, which includes the sources of all
# targets. clang-tidy spends most of its time on the headers of a unit. Each suite defines describeSuite(), so each
# directory has another name for it in the unit.
function(benchgate_lint_unit)
  if(NOT BENCHGATE_LINT_UNIT)
    return()
  endif()
  set(unit "${CMAKE_BINARY_DIR}/lint.cpp")
  add_library(lint OBJECT "${unit}")
  target_link_libraries(lint PRIVATE benchgate_compile_options)
  set(lines "#include \"harness/suite.h\"\n")
  set(number 0)
  get_property(directories DIRECTORY PROPERTY SUBDIRECTORIES)
  foreach(directory IN LISTS directories)
    math(EXPR number "${number} + 1")
    string(APPEND lines "#undef describeSuite\n#define describeSuite describeSuite${number}\n"
                        "namespace benchgate { Suite describeSuite(); }\n")
    get_property(targets DIRECTORY "${directory}" PROPERTY BUILDSYSTEM_TARGETS)
    set(all "")
    foreach(target IN LISTS targets)
      get_target_property(type ${target} TYPE)
      if(NOT type STREQUAL "INTERFACE_LIBRARY")
        get_target_property(sources ${target} SOURCES)
        list(APPEND all ${sources})
        target_include_directories(lint PRIVATE $<TARGET_PROPERTY:${target},INCLUDE_DIRECTORIES>)
        target_compile_definitions(lint PRIVATE $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>)
      endif()
    endforeach()
    list(REMOVE_DUPLICATES all)
    foreach(source IN LISTS all)
      get_property(definitions SOURCE "${directory}/${source}" DIRECTORY "${directory}" PROPERTY COMPILE_DEFINITIONS)
      target_compile_definitions(lint PRIVATE ${definitions})
      string(APPEND lines "#include \"${directory}/${source}\"\n")
    endforeach()
  endforeach()
  file(GENERATE OUTPUT "${unit}" CONTENT "${lines}")
endfunction()
