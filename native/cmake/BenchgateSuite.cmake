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

option(BENCHGATE_LINT_UNITS "Declare the translation units that ./lint checks" OFF)

# benchgate_lint_unit()
#
# Called after the targets of a directory: an object library `lint_<directory>`, whose unity build has the sources of all
# of them in one translation unit. clang-tidy spends most of its time on the headers of a unit. A source with compile
# definitions of its own is left out, because it is a unit of its own in its target.
function(benchgate_lint_unit)
  if(NOT BENCHGATE_LINT_UNITS)
    return()
  endif()
  get_filename_component(directory "${CMAKE_CURRENT_SOURCE_DIR}" NAME)
  get_property(targets DIRECTORY PROPERTY BUILDSYSTEM_TARGETS)
  add_library(lint_${directory} OBJECT)
  foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type STREQUAL "INTERFACE_LIBRARY")
      continue()
    endif()
    get_target_property(sources ${target} SOURCES)
    foreach(source IN LISTS sources)
      get_source_file_property(definitions "${source}" COMPILE_DEFINITIONS)
      if(NOT definitions)
        target_sources(lint_${directory} PRIVATE "${source}")
      endif()
    endforeach()
    target_link_libraries(lint_${directory} PRIVATE $<TARGET_PROPERTY:${target},LINK_LIBRARIES>)
    target_compile_definitions(lint_${directory} PRIVATE $<TARGET_PROPERTY:${target},COMPILE_DEFINITIONS>)
  endforeach()
endfunction()
