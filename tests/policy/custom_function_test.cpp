// custom_fwd and custom_bwd.
#include <doctest/doctest.h>

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "types.hpp"

using namespace mezzo;
using namespace mezzo::test;

namespace {

using Policy = Autocast<bfloat16>;

struct square {  // without cast_inputs: runs as it is, under the caller's policy
  template <class P>
  static constexpr auto forward(Context<P>, auto x) {
    return saved(convert<float>(x) * convert<float>(x), x);
  }
  template <class P, class X>
  static constexpr auto backward(const Context<P, X>& context, auto dy) {
    const auto& [x] = context;
    return 2.f * convert<float>(x) * dy;
  }
};

struct square_in_float {
  using cast_inputs = float;
  template <class P>
  static constexpr auto forward(Context<P>, float x) {
    static_assert(!P::is_enabled);
    return saved(x * x, x);
  }
  template <class P>
  static constexpr auto backward(const Context<P, float>& context, auto dy) {
    static_assert(!P::is_enabled);
    return 2.f * context.template get<0>() * dy;
  }
};

template <class P>
struct policy_is {
  template <class Q>
  static constexpr bool in(const Context<Q>&) {
    return same<P, Q>;
  }
};

struct which_policy {  // hands back the type of what it sees
  template <class P>
  static constexpr auto forward(Context<P>, auto x) {
    return saved(std::type_identity<P>{}, x);
  }
  template <class P, class X>
  static constexpr auto backward(const Context<P, X>&) {
    return std::type_identity<P>{};
  }
};

struct reads_anything {
  using cast_inputs = float16;
  static auto forward(auto, auto... args) { return std::tuple<decltype(args)...>(args...); }
};

struct mixed_on_purpose {
  using cast_inputs = void;
  static auto forward(auto, float16 x, float scale) { return convert<float>(x) * scale; }
};

struct twice {
  static auto forward(auto, float x) { return 2.f * x; }
  static auto backward(const auto&, float dy) { return 2.f * dy; }
};

struct keeps_three {
  static auto forward(auto, std::span<const float> x, std::unique_ptr<int> p) { return saved(x.size(), x, std::move(p), 2.5); }
  template <class P, class X, class Y, class Z>
  static auto backward(const Context<P, X, Y, Z>& context) {
    const auto& [x, p, z] = context;
    static_assert(same<X, std::span<const float>> && same<Y, std::unique_ptr<int>> && same<Z, double>);
    return static_cast<double>(x[1]) + *p + z;
  }
};

struct product {
  static auto forward(auto, float a, float b) { return saved(a * b, a, b); }
  template <class P>
  static auto backward(const Context<P, float, float>& context, float dy, float factor) {
    const auto& [a, b] = context;
    return std::tuple(b * dy * factor, a * dy * factor);
  }
};

}  // namespace

TEST_CASE("the forward's output and context come back, and the backward reads what was saved") {
  const auto [y, context] = custom_fwd<Policy, square>(convert<bfloat16>(3.f));
  CHECK(y == 9.f);
  CHECK(custom_bwd<square>(context, .5f) == 3.f);
}
TEST_CASE("with cast_inputs the forward receives that type and runs with autocast off") {
  const auto [y, context] = custom_fwd<Policy, square_in_float>(convert<bfloat16>(3.f));
  CHECK(y == 9.f);
  CHECK(custom_bwd<square_in_float>(context, 1.f) == 6.f);
}
TEST_CASE("without cast_inputs forward and backward both run under the policy of the call") {
  const auto [policy, context] = custom_fwd<Policy, which_policy>(1.f);
  static_assert(same<decltype(policy), const std::type_identity<Policy>>);
  static_assert(same<decltype(custom_bwd<which_policy>(context)), std::type_identity<Policy>>);
  const auto [other, other_context] = custom_fwd<Autocast<float16>, which_policy>(1.f);
  static_assert(same<decltype(custom_bwd<which_policy>(other_context)), std::type_identity<Autocast<float16>>>);
  static_assert(!same<decltype(context), decltype(other_context)>);
}
TEST_CASE("the backward's policy is the forward's, with overrides, although the backward is called inside another policy's region") {
  using Tuned = Policy::with<op::softmax, CastRule::lower_precision>;
  const auto [policy, context] = custom_fwd<Tuned, which_policy>(1.f);
  const auto later = [&]<class Outer>(Outer) { return custom_bwd<which_policy>(context); };
  static_assert(same<decltype(later(Autocast<float16>())), std::type_identity<Tuned>>);
}
TEST_CASE("in a disabled region cast_inputs casts nothing, as in torch") {
  const auto forwarded = custom_fwd<Policy::disabled, reads_anything>(1.f, convert<bfloat16>(2.f));
  static_assert(same<decltype(forwarded.first), std::tuple<float, bfloat16>>);
  static_assert(same<decltype(forwarded.second)::policy, Policy::disabled>);
}
TEST_CASE("outside any region no policy is named, nothing is cast and the backward runs outside too") {
  static_assert(same<decltype(custom_fwd<reads_anything>(1.f, 2.0).first), std::tuple<float, double>>);
  const auto [z, kept] = custom_fwd<square>(4.f);
  CHECK(z == 16.f);
  CHECK(custom_bwd<square>(kept, 1.f) == 8.f);
  static_assert(!decltype(kept)::policy::is_enabled);
}
TEST_CASE("cast_inputs leaves doubles, integers and other things alone") {
  int marker = 0;
  const auto forwarded = custom_fwd<Policy, reads_anything>(1.f, 2.0, 3, true, &marker);
  static_assert(same<decltype(forwarded.first), std::tuple<float16, double, int, bool, int*>>);
}
TEST_CASE("cast_inputs reaches into tuples, arrays and optionals") {
  const auto [y, context] = custom_fwd<Policy, reads_anything>(std::tuple(1.f, 2), std::array{convert<bfloat16>(3.f)}, std::optional(4.f));
  static_assert(same<std::remove_const_t<decltype(y)>, std::tuple<std::tuple<float16, int>, std::array<float16, 1>, std::optional<float16>>>);
  CHECK(convert<float>(std::get<1>(y)[0]) == 3.f);
  CHECK(convert<float>(*std::get<2>(y)) == 4.f);
}
TEST_CASE("an op may ask for mixed types as they are") {
  CHECK(custom_fwd<Policy, mixed_on_purpose>(convert<float16>(2.f), 3.f).first == 6.f);
}
TEST_CASE("a forward that saves nothing returns its output alone") {
  const auto [y, context] = custom_fwd<Policy, twice>(1.f);
  CHECK(y == 2.f);
  CHECK(custom_bwd<twice>(context, 3.f) == 6.f);
}
TEST_CASE("several values are kept in order, moved where they are moved in, and data is kept as a span") {
  const std::vector<float> data{1.f, 2.f};
  const auto forwarded = custom_fwd<Policy::disabled, keeps_three>(std::span<const float>(data), std::make_unique<int>(3));
  CHECK(forwarded.first == 2);
  CHECK(custom_bwd<keeps_three>(forwarded.second) == 7.5);
}
TEST_CASE("a context is one value that may be copied, moved and stored") {
  auto [y, context] = custom_fwd<Policy, square>(convert<bfloat16>(3.f));
  std::vector<decltype(context)> tape;
  tape.push_back(context);
  tape.push_back(std::move(context));
  CHECK(custom_bwd<square>(tape[0], 1.f) == 6.f);
  CHECK(custom_bwd<square>(tape[1], 1.f) == 6.f);
}
TEST_CASE("the backward takes any number of gradients and may return several") {
  const auto [y, context] = custom_fwd<Policy, product>(2.f, 5.f);
  const auto [da, db] = custom_bwd<product>(context, 1.f, 10.f);
  CHECK(da == 50.f);
  CHECK(db == 20.f);
}
TEST_CASE("forward and backward run in constant expressions") {
  static_assert(custom_fwd<square>(3.f).first == 9.f);
  static_assert(custom_bwd<square_in_float>(custom_fwd<Policy, square_in_float>(3.f).second, 1.f) == 6.f);
}
