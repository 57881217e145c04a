#pragma once
// What an op tag is: a type that carries its name and its default rule.

#include <mezzo/policy/cast_rule.hpp>

namespace mezzo {

/// A type that names an op and carries its default rule. Write one struct; nothing is registered:
///
///     struct my_norm {
///       static constexpr const char* name = "my_norm";        // or std::string_view
///       static constexpr CastRule rule = CastRule::float32;
///     };
///
/// Optional members:
/// - `using result_type = bool;` the result's type whatever the arguments are (comparisons);
/// - `static constexpr bool is_gemm = true;` the op can run with an 8-bit low type;
/// - `template <bool Allowed> static constexpr void allow()` with a static_assert on `Allowed`: a banned op's own sentence.
template <class Op>
concept OpTag = requires {
  Op::name;
  requires stdlib::is_same_v<stdlib::remove_cv_t<decltype(Op::rule)>, CastRule>;
};

namespace op {

/// Base of mezzo's own tags: the rule, so that a tag is one line.
template <CastRule Rule>
struct Follows {
  static constexpr CastRule rule = Rule;
};

}  // namespace op

/// A list of tags, for reports and loops over ops.
template <class... Ops>
struct OpList {
  static constexpr stdlib::size_t size = sizeof...(Ops);
};

namespace detail {

template <class... Lists>
struct JoinedOps;
template <class... Ops>
struct JoinedOps<OpList<Ops...>> {
  using type = OpList<Ops...>;
};
template <class... A, class... B, class... Rest>
struct JoinedOps<OpList<A...>, OpList<B...>, Rest...> : JoinedOps<OpList<A..., B...>, Rest...> {};

/// The sentence for a type that is no tag.
template <class Op>
struct require_op_tag {
  static constexpr bool value = OpTag<Op>;
  static_assert(value,
    "this type is no op tag. An op tag names an op and carries its default rule. Take one from mezzo/policy/ops.hpp, or write "
    "one: struct my_op { static constexpr const char* name = \"my_op\"; static constexpr CastRule rule = CastRule::float32; };");
};

}  // namespace detail

/// One list of the tags of several.
template <class... Lists>
using joined_ops_t = typename detail::JoinedOps<Lists...>::type;

}  // namespace mezzo
