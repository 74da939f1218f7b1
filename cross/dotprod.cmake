# Toolchain of CPU=dotprod. The build script of llama-cpp-sys-2 pins armv8-a after it has forwarded what the environment
# sets; a variable of the toolchain file shadows that.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(GGML_CPU_ARM_ARCH "armv8.2-a+dotprod+fp16")
