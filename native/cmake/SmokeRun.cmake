# Runs for an instant the benchmarks of PROGRAM that FILTER selects, and discards their stdout. Fails if the program
# fails, or if RESULT has an error row.

execute_process(
  COMMAND "${PROGRAM}" "--benchmark_filter=${FILTER}" --benchmark_min_time=0.001 "--benchmark_out=${RESULT}"
          --benchmark_out_format=json
  OUTPUT_FILE /dev/null
  RESULT_VARIABLE exit_code)
if(NOT exit_code EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} ended with ${exit_code}")
endif()

file(READ "${RESULT}" json)
string(JSON rows LENGTH "${json}" benchmarks)
if(rows EQUAL 0)
  message(FATAL_ERROR "${PROGRAM} measured nothing")
endif()
math(EXPR last "${rows} - 1")
foreach(row RANGE ${last})
  string(JSON name GET "${json}" benchmarks ${row} name)
  string(JSON reason ERROR_VARIABLE absent GET "${json}" benchmarks ${row} error_message)
  if(NOT absent)
    message(SEND_ERROR "${name}: ${reason}")
  endif()
endforeach()
message(STATUS "${rows} benchmarks, no error")
