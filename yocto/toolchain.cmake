# How the recipe has llama.cpp built: by bitbake's compilers, with libraries of the sysroot and of nowhere else. The
# build script of llama-cpp-sys-2 sets -march=armv8-a whatever the machine's tune is; a variable of this file comes
# before that. The recipe and cargo.bbclass set the environment that is read here.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR $ENV{CARGO_CFG_TARGET_ARCH})
set(CMAKE_C_COMPILER $ENV{TARGET_CC})
set(CMAKE_CXX_COMPILER $ENV{TARGET_CXX})
set(CMAKE_FIND_ROOT_PATH $ENV{OBLIGATO_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
if(NOT "$ENV{OBLIGATO_ARM_ARCH}" STREQUAL "")
    set(GGML_CPU_ARM_ARCH "$ENV{OBLIGATO_ARM_ARCH}")
endif()
