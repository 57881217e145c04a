# What mezzo stands on. Used by its own build and, installed, by mezzo-config.cmake.
#
# Needed:   CUDA::toolkit and CCCL::CCCL (headers only: no GPU, and no nvcc for the .hpp headers).
# Optional: one target each, there only when its library is found; all else works without.
#   mezzo::blas    a CBLAS, for GEMM and convolution on the host executor
#   mezzo::cublas  cuBLAS and cuBLASLt
#   mezzo::cudnn   cuDNN 9 with cudnn-frontend; hints: CUDNN_ROOT, CUDNN_FRONTEND_ROOT
#   mezzo::nccl    NCCL; hint: NCCL_ROOT
# The hints may name an install prefix or the folder of a Python wheel (site-packages/nvidia/cudnn).

# Debian's CMake 3.25.1 fails on toolkits without nvToolsExt (CUDA 13) when the project asks for CMake 3.25 or newer, so
# for this call it asks for less.
set(mezzo_minimum_required ${CMAKE_MINIMUM_REQUIRED_VERSION})
set(CMAKE_MINIMUM_REQUIRED_VERSION 3.24)
find_package(CUDAToolkit QUIET)
set(CMAKE_MINIMUM_REQUIRED_VERSION ${mezzo_minimum_required})

# Without nvcc CMake sees no toolkit at all, and the headers are enough for everything on the host. Since CUDA 13 CCCL
# stands in a folder of its own, which nvcc adds by itself and a host compiler does not.
find_path(MEZZO_CUDA_INCLUDE_DIR cuda_fp8.h NO_CMAKE_PATH
  HINTS ${CUDAToolkit_INCLUDE_DIRS} ${CUDAToolkit_ROOT} $ENV{CUDAToolkit_ROOT} $ENV{CUDA_PATH}
  PATHS /usr/local/cuda PATH_SUFFIXES include targets/x86_64-linux/include)
find_path(MEZZO_CCCL_INCLUDE_DIR cuda/std/span NO_CMAKE_PATH
  HINTS ${MEZZO_CUDA_INCLUDE_DIR}/cccl ${MEZZO_CUDA_INCLUDE_DIR} ${MEZZO_CUDA_INCLUDE_DIR}/../../cuda_cccl/include)
mark_as_advanced(MEZZO_CUDA_INCLUDE_DIR MEZZO_CCCL_INCLUDE_DIR)

# Toolkits before 12.4 lack parts of libcu++ that the headers use.
set(mezzo_cuda_version 0)
if(MEZZO_CUDA_INCLUDE_DIR AND EXISTS "${MEZZO_CUDA_INCLUDE_DIR}/cuda_runtime_api.h")
  file(STRINGS "${MEZZO_CUDA_INCLUDE_DIR}/cuda_runtime_api.h" mezzo_cuda_version REGEX "define +CUDART_VERSION +[0-9]+")
  string(REGEX REPLACE ".* ([0-9]+).*" "\\1" mezzo_cuda_version "${mezzo_cuda_version}")
endif()
if(mezzo_cuda_version LESS 12040 OR NOT MEZZO_CCCL_INCLUDE_DIR)
  set(mezzo_message "mezzo needs the headers of the CUDA Toolkit 12.4 or newer with CCCL; no GPU, and for the host part no \
nvcc. CUDAToolkit_ROOT says where they are. Seen: CUDA headers '${MEZZO_CUDA_INCLUDE_DIR}' (version \
${mezzo_cuda_version}), CCCL '${MEZZO_CCCL_INCLUDE_DIR}'.")
  if("${CMAKE_FIND_PACKAGE_NAME}" STREQUAL "mezzo")
    set(mezzo_FOUND FALSE)
    set(mezzo_NOT_FOUND_MESSAGE "${mezzo_message}")
    return()
  endif()
  message(FATAL_ERROR "${mezzo_message}")
endif()

if(NOT TARGET CUDA::toolkit)
  add_library(CUDA::toolkit INTERFACE IMPORTED GLOBAL)
  target_include_directories(CUDA::toolkit SYSTEM INTERFACE ${MEZZO_CUDA_INCLUDE_DIR})
endif()
if(NOT TARGET CCCL::CCCL)
  find_package(CCCL CONFIG QUIET HINTS ${CUDAToolkit_LIBRARY_DIR}/cmake ${MEZZO_CUDA_INCLUDE_DIR}/../lib/cmake)
endif()
if(NOT TARGET CCCL::CCCL)
  add_library(CCCL::CCCL INTERFACE IMPORTED GLOBAL)
  target_include_directories(CCCL::CCCL SYSTEM INTERFACE ${MEZZO_CCCL_INCLUDE_DIR})
endif()

set(MEZZO_PARTS blas cublas cudnn nccl)

# mezzo_part(<name> <what to say when it is missing> INCLUDES <dir>... LIBRARIES <file or target>...)
# adds mezzo::<name> unless one of the values is missing, and sets mezzo_<name>_FOUND.
macro(mezzo_part name missing)
  cmake_parse_arguments(part "" "" "INCLUDES;LIBRARIES" ${ARGN})
  set(mezzo_${name}_FOUND TRUE)
  foreach(value IN LISTS part_INCLUDES part_LIBRARIES)
    if("${value}" MATCHES "NOTFOUND$" OR ("${value}" MATCHES "::" AND NOT TARGET ${value}))
      set(mezzo_${name}_FOUND FALSE)
      set(mezzo_${name}_NOT_FOUND_MESSAGE "${missing}")
    endif()
  endforeach()
  if(mezzo_${name}_FOUND AND NOT TARGET mezzo::${name})
    add_library(mezzo::${name} INTERFACE IMPORTED GLOBAL)
    target_include_directories(mezzo::${name} SYSTEM INTERFACE ${part_INCLUDES})
    target_link_libraries(mezzo::${name} INTERFACE ${part_LIBRARIES})
  endif()
endmacro()

find_path(MEZZO_CBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES openblas)
find_library(MEZZO_CBLAS_LIBRARY NAMES openblas blis cblas)
mezzo_part(blas "no cblas.h with its library (Debian: libopenblas-dev)"
  INCLUDES "${MEZZO_CBLAS_INCLUDE_DIR}" LIBRARIES "${MEZZO_CBLAS_LIBRARY}")

mezzo_part(cublas "the CUDA toolkit has no cuBLASLt" LIBRARIES CUDA::cublas CUDA::cublasLt)

set(mezzo_cudnn_hints ${CUDNN_ROOT} $ENV{CUDNN_ROOT} ${MEZZO_CUDA_INCLUDE_DIR}/.. ${CUDAToolkit_TARGET_DIR})
find_path(MEZZO_CUDNN_INCLUDE_DIR cudnn_graph.h HINTS ${mezzo_cudnn_hints} PATH_SUFFIXES include)
find_library(MEZZO_CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${mezzo_cudnn_hints} PATH_SUFFIXES lib lib64)
find_path(MEZZO_CUDNN_FRONTEND_INCLUDE_DIR cudnn_frontend.h
  HINTS ${CUDNN_FRONTEND_ROOT} $ENV{CUDNN_FRONTEND_ROOT} ${mezzo_cudnn_hints} ${CUDNN_ROOT}/../.. PATH_SUFFIXES include)
mezzo_part(cudnn "no cuDNN 9 with cudnn_frontend.h (hints: CUDNN_ROOT, CUDNN_FRONTEND_ROOT)"
  INCLUDES "${MEZZO_CUDNN_INCLUDE_DIR}" "${MEZZO_CUDNN_FRONTEND_INCLUDE_DIR}"
  LIBRARIES "${MEZZO_CUDNN_LIBRARY}" CUDA::nvrtc) # cudnn-frontend compiles kernels of its own
if(TARGET mezzo::cudnn)
  target_compile_definitions(mezzo::cudnn INTERFACE MEZZO_HAS_CUDNN=1) # convolution on CUDA then runs on it
endif()

set(mezzo_nccl_hints ${NCCL_ROOT} $ENV{NCCL_ROOT} ${MEZZO_CUDA_INCLUDE_DIR}/.. ${CUDAToolkit_TARGET_DIR})
find_path(MEZZO_NCCL_INCLUDE_DIR nccl.h HINTS ${mezzo_nccl_hints} PATH_SUFFIXES include)
find_library(MEZZO_NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${mezzo_nccl_hints} PATH_SUFFIXES lib lib64)
mezzo_part(nccl "no nccl.h with its library (hint: NCCL_ROOT)"
  INCLUDES "${MEZZO_NCCL_INCLUDE_DIR}" LIBRARIES "${MEZZO_NCCL_LIBRARY}")

mark_as_advanced(MEZZO_CBLAS_INCLUDE_DIR MEZZO_CBLAS_LIBRARY MEZZO_CUDNN_INCLUDE_DIR MEZZO_CUDNN_LIBRARY
  MEZZO_CUDNN_FRONTEND_INCLUDE_DIR MEZZO_NCCL_INCLUDE_DIR MEZZO_NCCL_LIBRARY)
