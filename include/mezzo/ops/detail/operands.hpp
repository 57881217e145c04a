#pragma once
// Compile-time checks of operand types that all ops share, and the back end that an executor's ops run on.

#include <type_traits>

#include <mezzo/core/span.hpp>
#include <mezzo/numeric/traits.hpp>
#include <mezzo/policy/cast_types.hpp>

namespace mezzo::detail {

/// Element type of a range, without const.
template <class Range>
using element_of_t = std::remove_const_t<range_element_t<Range>>;

/// Elements that ops compute with; the 8-bit types need a scale beside them, which no op here takes.
template <class T>
concept OpElement = Element<T> && !EightBit<T>;

template <class... Ranges>
inline constexpr bool hold_elements = (OpElement<element_of_t<Ranges>> && ...);

template <class... Ranges>
inline constexpr bool writable = (!std::is_const_v<range_element_t<Ranges>> && ...);

/// Whether the policy reads `First`, in a call with `Others`, without a cast.
template <class Policy, class Op, class First, class... Others>
inline constexpr bool reads_as_is = std::is_same_v<argument_type_t<Policy, Op, First, Others...>, First>;

/// What sums run in: double when an operand is double, else float.
template <class... Elements>
using accumulation_t = std::conditional_t<(std::is_same_v<Elements, double> || ...), double, float>;

template <class...>
inline constexpr bool never = false;

/// How the ops of a family run on an executor. A back end specialises it in a folder of its own (host, cuda, ...).
template <class Executor, class Op>
struct Backend {
  static_assert(never<Executor, Op>,
    "ops: no back end runs this op on this executor. Include the header that brings it: mezzo/ops/ops.hpp for HostExecutor, "
    "mezzo/ops/ops.cuh for CudaExecutor; on the host, matmul and linear also need a CBLAS (<cblas.h>, CMake target mezzo::blas).");
};

}  // namespace mezzo::detail
