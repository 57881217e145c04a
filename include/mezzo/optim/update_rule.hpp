#pragma once
// What an update rule is: one element's arithmetic, and the scalars that a step computes once.

#include <concepts>
#include <cstdint>
#include <source_location>

#include <mezzo/core/error.hpp>
#include <mezzo/numeric/arithmetic.hpp>

namespace mezzo {

/// An optimizer in ten lines. The rule sees one element; loading, storing, unscaling, skipping, clipping, master storage and
/// the low-precision copy belong to MasterOptimizer.
///
///     struct Rule {
///       struct Options { float lr = ...; };
///       struct Scalars { ... };                        // what all elements of a group share in one step
///       static constexpr int moments = 1;              // values kept per element; they start at 0
///       static void validate(const Options&, std::source_location);
///       static Scalars scalars(const Options&, double lr, std::uint64_t step);          // host and device; step is 1, 2, ...
///       static void update(const Scalars&, float& weight, float gradient, float& moment);     // host and device
///     };
///
/// All arithmetic goes through `exact::`, so that host and device give the same bits. Options and Scalars are trivially
/// copyable. A rule must not be a template on a float value: nvcc 13.0 prints such arguments with six digits, and its
/// kernels then fail with "invalid device function"; put the value into Options. `static constexpr bool
/// needs_float_moments = true` refuses 16-bit moments.
template <class Rule>
concept UpdateRule = requires(const typename Rule::Options& options, double lr, std::uint64_t step, std::source_location where) {
  { options.lr } -> std::convertible_to<float>;
  { Rule::moments } -> std::convertible_to<int>;
  { Rule::scalars(options, lr, step) } -> std::same_as<typename Rule::Scalars>;
  Rule::validate(options, where);
};

namespace detail {

template <class Rule>
inline constexpr bool needs_float_moments = false;
template <class Rule>
  requires requires { Rule::needs_float_moments; }
inline constexpr bool needs_float_moments<Rule> = Rule::needs_float_moments;

template <std::size_t>
using moment_argument = float&;

// No lambda with the pack in its requires-expression: nvcc 13.0 dies of that.
template <class Rule, class Indices>
struct TakesMoments;
template <class Rule, std::size_t... Index>
struct TakesMoments<Rule, std::index_sequence<Index...>> {
  static constexpr bool value = requires(const typename Rule::Scalars& scalars, float& weight, moment_argument<Index>... moments) {
    Rule::update(scalars, weight, 0.f, moments...);
  };
};

/// Whether the rule's `update` takes as many moments as it says, and its scalars may travel to a device.
template <class Rule>
inline constexpr bool updates_elements =
    std::is_trivially_copyable_v<typename Rule::Options> && std::is_trivially_copyable_v<typename Rule::Scalars> &&
    TakesMoments<Rule, std::make_index_sequence<static_cast<std::size_t>(Rule::moments)>>::value;

}  // namespace detail

}  // namespace mezzo
