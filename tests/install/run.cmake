cmake_minimum_required(VERSION 3.25)

# The steps of install_consumer_test; the first that fails ends it.
function(step)
    list(JOIN ARGN " " line)
    message(STATUS "${line}")
    execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

# A fresh folder, so that a file left out of a later install cannot be found there.
file(REMOVE_RECURSE ${WORK_DIR})
step(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK_DIR}/prefix)
step(${CMAKE_COMMAND} -S ${CONSUMER} -B ${WORK_DIR}/build -G ${GENERATOR}
    -D CMAKE_CXX_COMPILER=${CXX_COMPILER}
    -D CMAKE_BUILD_TYPE=${BUILD_TYPE}
    -D CMAKE_PREFIX_PATH=${WORK_DIR}/prefix
    -D CONSUMER_COMPONENTS=${COMPONENTS})
step(${CMAKE_COMMAND} --build ${WORK_DIR}/build)
step(${WORK_DIR}/build/consumer)
if("torch" IN_LIST COMPONENTS)
    step(${WORK_DIR}/build/consumer_torch)
endif()
