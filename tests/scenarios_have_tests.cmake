# cmake -DCTEST=ctest -DBUILD=folder -P scenarios_have_tests.cmake: each scenario id is in the name of a test of label preload.
# The folder is one below that which ctest runs in: there the inner ctest would take the outer one's log away.
execute_process(COMMAND ${CTEST} -N -L preload WORKING_DIRECTORY ${BUILD} OUTPUT_VARIABLE tests RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "${CTEST} -N -L preload failed: ${status}")
endif()
set(missing "")
foreach(id A1 A2 A3 A4 A5 A6 A7 B1 B2 B3 B4 D1 D2 D4 D5 E1 E2 E3 E4 F5 G4 I1 I2 I3 I4 I5 I6 I7 I8 I9 K1 K10 K2 K3 K4 K5
        K6 K7 K8 K9 L1 L2 L3 L4 L5 L6 M1 M3 P4 P5 P6 Q1 Q2 R1 S1 S2 S3 T1)
  if(NOT tests MATCHES "[./_]${id}_")
    list(APPEND missing ${id})
  endif()
endforeach()
if(missing)
  message(FATAL_ERROR "no test of label preload has the scenario in its name: ${missing}")
endif()
