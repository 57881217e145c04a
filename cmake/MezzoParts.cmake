# What mezzo stands on. Used by its own build and, installed, by mezzo-config.cmake.
#
# Needed:   CUDA::toolkit and CCCL::CCCL (headers only: no GPU, and no nvcc for the .hpp headers).
# Optional: one target each, there only when its library is found; all else works without.
#   mezzo::blas    a CBLAS, for GEMM and convolution on the host executor
#   mezzo::cublas  cuBLAS and cuBLASLt
#   mezzo::cudnn   cuDNN 9 with cudnn-frontend; hints: CUDNN_ROOT, CUDNN_FRONTEND_ROOT
#   mezzo::nccl    NCCL; hint: NCCL_ROOT
# The hints may name an install prefix or the folder of a Python wheel (site-packages/nvidia/cudnn).

# Toolkits before 12.4 lack parts of libcu++ that the headers use. Debian's CMake 3.25.1 fails on toolkits without
# nvToolsExt (CUDA 13) when the project asks for CMake 3.25 or newer, so for this call it asks for less.
set(mezzo_minimum_required ${CMAKE_MINIMUM_REQUIRED_VERSION})
set(CMAKE_MINIMUM_REQUIRED_VERSION 3.24)
find_package(CUDAToolkit 12.4 REQUIRED)
set(CMAKE_MINIMUM_REQUIRED_VERSION ${mezzo_minimum_required})
if(NOT TARGET CCCL::CCCL)
  # Since CUDA 13 CCCL stands in a folder that nvcc adds by itself and a host compiler does not.
  find_package(CCCL CONFIG QUIET REQUIRED
    HINTS ${CUDAToolkit_LIBRARY_DIR}/cmake ${CUDAToolkit_TARGET_DIR}/lib/cmake)
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

set(mezzo_cudnn_hints ${CUDNN_ROOT} $ENV{CUDNN_ROOT} ${CUDAToolkit_TARGET_DIR} ${CUDAToolkit_LIBRARY_DIR}/..)
find_path(MEZZO_CUDNN_INCLUDE_DIR cudnn_graph.h HINTS ${mezzo_cudnn_hints} PATH_SUFFIXES include)
find_library(MEZZO_CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${mezzo_cudnn_hints} PATH_SUFFIXES lib lib64)
find_path(MEZZO_CUDNN_FRONTEND_INCLUDE_DIR cudnn_frontend.h
  HINTS ${CUDNN_FRONTEND_ROOT} $ENV{CUDNN_FRONTEND_ROOT} ${mezzo_cudnn_hints} ${CUDNN_ROOT}/../.. PATH_SUFFIXES include)
mezzo_part(cudnn "no cuDNN 9 with cudnn_frontend.h (hints: CUDNN_ROOT, CUDNN_FRONTEND_ROOT)"
  INCLUDES "${MEZZO_CUDNN_INCLUDE_DIR}" "${MEZZO_CUDNN_FRONTEND_INCLUDE_DIR}" LIBRARIES "${MEZZO_CUDNN_LIBRARY}")

set(mezzo_nccl_hints ${NCCL_ROOT} $ENV{NCCL_ROOT} ${CUDAToolkit_TARGET_DIR} ${CUDAToolkit_LIBRARY_DIR}/..)
find_path(MEZZO_NCCL_INCLUDE_DIR nccl.h HINTS ${mezzo_nccl_hints} PATH_SUFFIXES include)
find_library(MEZZO_NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${mezzo_nccl_hints} PATH_SUFFIXES lib lib64)
mezzo_part(nccl "no nccl.h with its library (hint: NCCL_ROOT)"
  INCLUDES "${MEZZO_NCCL_INCLUDE_DIR}" LIBRARIES "${MEZZO_NCCL_LIBRARY}")

mark_as_advanced(MEZZO_CBLAS_INCLUDE_DIR MEZZO_CBLAS_LIBRARY MEZZO_CUDNN_INCLUDE_DIR MEZZO_CUDNN_LIBRARY
  MEZZO_CUDNN_FRONTEND_INCLUDE_DIR MEZZO_NCCL_INCLUDE_DIR MEZZO_NCCL_LIBRARY)
