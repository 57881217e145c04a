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
/// All arithmetic goes through `exact::`, so that host and device give the same bits.
template <class Rule>
concept UpdateRule = requires(const typename Rule::Options& options, double lr, std::uint64_t step, std::source_location where) {
  { options.lr } -> std::convertible_to<float>;
  { Rule::moments } -> std::convertible_to<int>;
  { Rule::scalars(options, lr, step) } -> std::same_as<typename Rule::Scalars>;
  Rule::validate(options, where);
};

}  // namespace mezzo
