// The contract of a policy as its users see it, through the umbrella headers.
#include <mezzo/policy/policy.hpp>

#include <mezzo/policy/ops.hpp>

#include <doctest/doctest.h>

#include <string_view>
#include <type_traits>

using namespace mezzo;

namespace user {
struct my_norm {
  static constexpr std::string_view name = "my_norm";
  static constexpr CastRule rule = CastRule::float32;
};
struct scaled_exp {
  using cast_inputs = float;
  template <class P>
  static auto forward(Context<P>, auto x) {
    return saved(2.f * x, x);
  }
  template <class P, class X>
  static auto backward(const Context<P, X>& context, auto dy) {
    const auto& [x] = context;
    return x * dy;
  }
};
}  // namespace user

TEST_CASE("one include gives policies, the types of a call, autocast and custom ops; another all tags") {
  using Policy = Autocast<float16>;
  static_assert(std::is_same_v<compute_type_t<Policy, op::matmul, float, float>, float16>);
  static_assert(std::is_same_v<result_type_t<Policy::with<op::softmax, CastRule::lower_precision>, op::softmax, float>, float16>);
  CHECK(autocast<Policy, user::my_norm>([](auto x) { static_assert(std::is_same_v<decltype(x), float>); return x * 2; },
                                        convert<float16>(2.f)) == 4.f);
  const auto [out, context] = custom_fwd<Policy, user::scaled_exp>(convert<float16>(3.f));
  CHECK(out == 6.f);
  CHECK(custom_bwd<user::scaled_exp>(context, 2.f) == 6.f);
}
TEST_CASE("generic code changes a policy that it does not know") {
  const auto nested = []<class P>(P) {
    using Inner = with_t<disabled_t<with_t<P, op::softmax, CastRule::lower_precision>>, op::exp, CastRule::float32>;
    static_assert(std::is_same_v<compute_type_t<Inner, op::exp, float16>, float16>);  // an override does not switch autocast on
    static_assert(std::is_same_v<compute_type_t<enabled_t<Inner>, op::exp, float16>, float>);
  };
  nested(Autocast<float16>());
  nested(Autocast<bfloat16>());
}
TEST_CASE("every tag stands in the list of all ops") { static_assert(all_ops::size == 132); }
