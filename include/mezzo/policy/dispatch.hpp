#pragma once
// One run-time choice among compile-time policies, such as `--precision float16`.

#include <array>
#include <source_location>
#include <string>
#include <string_view>

#include <mezzo/core/error.hpp>
#include <mezzo/policy/autocast.hpp>

namespace mezzo {

/// Policies with the names that a user picks them by.
///
///     constexpr PolicyChoices<Autocast<float>, Autocast<float16>, Autocast<bfloat16>> precisions{
///       "float32", "float16", "bfloat16"};
///     precisions.dispatch(argv[1], [&]<class Policy>(Policy) { train<Policy>(model); });
///
/// Everything inside the call is compiled once for each policy: choose at the top of the program, not in its loops.
template <class... Policies>
class PolicyChoices {
  static_assert(sizeof...(Policies) > 0, "PolicyChoices: name at least one policy to choose from.");
  static_assert((AutocastPolicy<Policies> && ...),
    "PolicyChoices<Policies...>: every choice must be a policy, such as Autocast<float16> (mezzo/policy/autocast.hpp).");

 public:
  /// @param names one for each policy, in order; not empty, no two alike (checked at compile time where constexpr).
  /// @throws InvalidArgument otherwise.
  template <class... Names>
  constexpr PolicyChoices(const Names&... names)  // NOLINT: reads as a list of names
      : names_{as_name(names)...} {
    static_assert(sizeof...(Names) == sizeof...(Policies),
      "PolicyChoices: give one name for each policy, in the same order.");
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (names_[i].empty()) wrong_name("a choice has an empty name");
      for (std::size_t j = 0; j < i; ++j) {
        if (names_[i] == names_[j]) wrong_name("two choices have the same name");
      }
    }
  }

  /// The names in order, for a program's help text.
  [[nodiscard]] constexpr const std::array<std::string_view, sizeof...(Policies)>& names() const { return names_; }

  /// Calls `f(Policy())` for the policy named `name` and returns what it returns.
  ///
  /// @param f a generic lambda `[&]<class Policy>(Policy) { ... }`, instantiated for every choice; all must return one type.
  /// @throws InvalidArgument when no choice has that name; the message lists the choices.
  template <class F>
  constexpr decltype(auto) dispatch(
    std::string_view name, F&& f, const std::source_location& where = std::source_location::current()) const {
    return pick<0, F, Policies...>(name, f, where);
  }

 private:
  template <class F, class P>
  using returned_t = decltype(std::declval<F&>()(P()));

  template <std::size_t Index, class F, class P, class... Rest>
  constexpr returned_t<F, P> pick(std::string_view name, F& f, const std::source_location& where) const {
    if (name == names_[Index]) return f(P());
    if constexpr (sizeof...(Rest) > 0) {
      static_assert(std::is_same_v<returned_t<F, P>, decltype(pick<Index + 1, F, Rest...>(name, f, where))>,
        "PolicyChoices::dispatch: the function must return the same type for every policy. Return a plain value (the loss as "
        "float, say), not one whose type depends on the policy.");
      return pick<Index + 1, F, Rest...>(name, f, where);
    } else {
      std::string list;
      for (const std::string_view choice : names_) list.append(list.empty() ? "" : ", ").append(choice);
      fail<InvalidArgument>(where, "PolicyChoices::dispatch", "choose one of ", list, ", got \"", name, "\"");
    }
  }

  template <class Name>
  static constexpr std::string_view as_name(const Name& name) {
    static_assert(std::is_convertible_v<const Name&, std::string_view>,
      "PolicyChoices: a choice's name must be text, such as \"float16\".");
    if constexpr (std::is_convertible_v<const Name&, std::string_view>) {
      return name;
    } else {
      return {};
    }
  }
  static void wrong_name(const char* rule) { fail<InvalidArgument>(std::source_location::current(), "PolicyChoices", rule); }

  std::array<std::string_view, sizeof...(Policies)> names_;
};

}  // namespace mezzo
