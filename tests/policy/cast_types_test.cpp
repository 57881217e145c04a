// The rules, cell by cell as the documentation states them, on tags of the test's own.
#include <doctest/doctest.h>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "types.hpp"

using namespace mezzo;
using namespace mezzo::test;

namespace {

using F16 = Autocast<float16>;
using BF16 = Autocast<bfloat16>;
using F32 = Autocast<float>;
using Off = F16::disabled;
using h = float16;
using b = bfloat16;
using f = float;
using d = double;
using i = int;
using e4 = float8_e4m3;
using e5 = float8_e5m2;

struct arg_max {
  static constexpr std::string_view name = "arg_max";
  static constexpr CastRule rule = CastRule::float32_output;
  using result_type = std::int64_t;
};

}  // namespace

TEST_CASE("lower_precision casts every eligible argument to the low type") {
  static_assert(call_is<F16, lower, List<h>, List<h>, h, h>);
  static_assert(call_is<F16, lower, List<f>, List<h>, h, h>);
  static_assert(call_is<F16, lower, List<f, h>, List<h, h>, h, h>);
  static_assert(call_is<F16, lower, List<b>, List<h>, h, h>);
  static_assert(call_is<F16, lower, List<h, b>, List<h, h>, h, h>);
  static_assert(call_is<BF16, lower, List<h>, List<b>, b, b>);
  static_assert(call_is<BF16, lower, List<f, h, b>, List<b, b, b>, b, b>);
  static_assert(call_is<F16, lower, List<e4>, List<h>, h, h>);
  static_assert(call_is<F16, lower, List<e4, e5>, List<h, h>, h, h>);
  static_assert(call_is<F32, lower, List<h>, List<f>, f, f>);
}

TEST_CASE("float32 casts every eligible argument to float") {
  static_assert(call_is<F16, full, List<h>, List<f>, f, f>);
  static_assert(call_is<F16, full, List<b>, List<f>, f, f>);
  static_assert(call_is<F16, full, List<f>, List<f>, f, f>);
  static_assert(call_is<BF16, full, List<h, b, f>, List<f, f, f>, f, f>);
  static_assert(call_is<F16, full, List<e5>, List<f>, f, f>);
  static_assert(call_is<F32, full, List<h>, List<f>, f, f>);
}

TEST_CASE("float32_output reads its arguments as they are and returns float") {
  static_assert(call_is<F16, output, List<h>, List<h>, f, f>);
  static_assert(call_is<F16, output, List<b>, List<b>, f, f>);
  static_assert(call_is<F16, output, List<f>, List<f>, f, f>);
  static_assert(call_is<BF16, output, List<h, b>, List<h, b>, f, f>);
  static_assert(call_is<F16, output, List<e4>, List<e4>, f, f>);
  static_assert(call_is<F16, output, List<e4, e5>, List<e4, e5>, f, f>);
}

TEST_CASE("promote gives all arguments the widest type among them") {
  static_assert(call_is<F16, promote, List<h, h>, List<h, h>, h, h>);
  static_assert(call_is<F16, promote, List<h, f>, List<f, f>, f, f>);
  static_assert(call_is<F16, promote, List<f, h>, List<f, f>, f, f>);
  static_assert(call_is<F16, promote, List<h, h, f>, List<f, f, f>, f, f>);
}
TEST_CASE("promote keeps a uniform 16-bit type that is not the policy's") {
  static_assert(call_is<BF16, promote, List<h, h>, List<h, h>, h, h>);
  static_assert(call_is<F16, promote, List<b>, List<b>, b, b>);
}
TEST_CASE("two different 16-bit types promote to float, in any order and company") {
  static_assert(call_is<F16, promote, List<h, b>, List<f, f>, f, f>);
  static_assert(call_is<F16, promote, List<b, h>, List<f, f>, f, f>);
  static_assert(call_is<BF16, promote, List<h, e4, b>, List<f, f, f>, f, f>);
  static_assert(call_is<BF16, promote, List<e4, e5, h>, List<h, h, h>, h, h>);  // not bfloat16 by way of the 8-bit pair
  static_assert(call_is<BF16, promote, List<e4, h, e5>, List<h, h, h>, h, h>);
}
TEST_CASE("promote takes the low type for two different 8-bit types, and reads a uniform one as it is") {
  static_assert(call_is<F16, promote, List<e4, e5>, List<h, h>, h, h>);
  static_assert(call_is<BF16, promote, List<e5, e4>, List<b, b>, b, b>);
  static_assert(call_is<F16, promote, List<e4, h>, List<h, h>, h, h>);
  static_assert(call_is<F16, promote, List<e4, b>, List<b, b>, b, b>);
  static_assert(call_is<F16, promote, List<e4, e4>, List<e4, e4>, h, h>);  // computed in the low type at least
}
TEST_CASE("promote gives float under the float32 baseline, whose low type is float") {
  static_assert(call_is<F32, promote, List<h, h>, List<f, f>, f, f>);
}

TEST_CASE("pass_through casts nothing, computes in the widest type and returns its first argument's type") {
  static_assert(call_is<F16, pass, List<h>, List<h>, h, h>);
  static_assert(call_is<F16, pass, List<f>, List<f>, f, f>);
  static_assert(call_is<F16, pass, List<h, f>, List<h, f>, f, h>);
  static_assert(call_is<F16, pass, List<f, h>, List<f, h>, f, f>);
  static_assert(call_is<F16, pass, List<h, b>, List<h, b>, f, h>);
  static_assert(call_is<F16, pass, List<e4>, List<e4>, e4, e4>);
  static_assert(call_is<F16, pass, List<i, h>, List<i, h>, h, i>);
}

TEST_CASE("a double anywhere leaves every argument as it is and the call in double") {
  static_assert(call_is<F16, lower, List<d>, List<d>, d, d>);
  static_assert(call_is<F16, lower, List<h, d>, List<h, d>, d, d>);
  static_assert(call_is<F16, lower, List<f, i, d>, List<f, i, d>, d, d>);
  static_assert(call_is<F16, full, List<h, d>, List<h, d>, d, d>);
  static_assert(call_is<F16, output, List<h, d>, List<h, d>, d, d>);
  static_assert(call_is<F16, promote, List<h, d>, List<h, d>, d, d>);
  static_assert(call_is<F16, pass, List<h, d>, List<h, d>, d, d>);
  static_assert(call_is<F32, lower, List<h, d>, List<h, d>, d, d>);
  static_assert(call_is<Off, lower, List<h, d>, List<h, d>, d, d>);
}

TEST_CASE("without a floating argument the rule has no effect") {
  static_assert(call_is<F16, lower, List<i>, List<i>, i, i>);
  static_assert(call_is<F16, full, List<i, std::int64_t>, List<i, std::int64_t>, std::int64_t, std::int64_t>);
  static_assert(call_is<F16, output, List<bool>, List<bool>, bool, bool>);
  static_assert(call_is<F16, promote, List<bool, i>, List<bool, i>, i, i>);
  static_assert(call_is<F16, pass, List<std::int8_t, i>, List<std::int8_t, i>, i, i>);
}
TEST_CASE("integers and bools pass untouched and widen nothing") {
  static_assert(call_is<F16, lower, List<i, f>, List<i, h>, h, h>);
  static_assert(call_is<F16, full, List<h, std::int64_t>, List<f, std::int64_t>, f, f>);
  static_assert(call_is<F16, promote, List<h, i, bool>, List<h, i, bool>, h, h>);
}

TEST_CASE("a disabled region casts nothing and returns the widest type, banned ops included") {
  static_assert(call_is<Off, lower, List<h, f>, List<h, f>, f, f>);
  static_assert(call_is<Off, full, List<h>, List<h>, h, h>);
  static_assert(call_is<Off, output, List<h>, List<h>, h, h>);
  static_assert(call_is<Off, promote, List<h, b>, List<h, b>, f, f>);
  static_assert(call_is<Off, pass, List<h, f>, List<h, f>, f, f>);  // the widest, not the first
  static_assert(call_is<Off, banned, List<h, f>, List<h, f>, f, f>);
  static_assert(call_is<Off, promote, List<e4, e5>, List<e4, e5>, f, f>);
  static_assert(call_is<Off, promote, List<e4, h>, List<e4, h>, h, h>);
}

TEST_CASE("a banned op runs in float under the float32 baseline") {
  static_assert(call_is<F32, banned, List<h>, List<f>, f, f>);
}

TEST_CASE("a comparison returns bool whatever it is given") {
  static_assert(call_is<F16, op::eq, List<h, f>, List<f, f>, f, bool>);
  static_assert(call_is<F16, op::lt, List<d, f>, List<d, f>, d, bool>);
  static_assert(call_is<F16, op::ne, List<i, i>, List<i, i>, i, bool>);
  static_assert(call_is<Off, op::ge, List<h, h>, List<h, h>, h, bool>);
}

TEST_CASE("an 8-bit low type reaches the operands of a GEMM, whose result is its float accumulator") {
  using Fp8 = Autocast<float8_e4m3>;
  static_assert(call_is<Fp8, op::matmul, List<h, f>, List<e4, e4>, e4, f>);
  static_assert(call_is<Fp8, op::linear, List<e4, e5>, List<e4, e4>, e4, f>);
  static_assert(call_is<Fp8, op::matmul, List<d>, List<d>, d, d>);
  static_assert(call_is<Fp8::disabled, op::softmax, List<h>, List<h>, h, h>);
}

TEST_CASE("the elements of optionals, packs and data count, optional arguments whether given or not") {
  static_assert(same<compute_type_t<F16, promote, h, std::optional<f>>, f>);
  static_assert(same<argument_type_t<F16, promote, h, std::optional<f>>, f>);
  static_assert(same<argument_type_t<F16, full, std::optional<h>>, f>);
  static_assert(same<compute_type_t<F16, promote, std::tuple<h, i, f>>, f>);
  static_assert(same<result_type_t<F16, promote, std::pair<h, std::array<b, 2>>>, f>);
  static_assert(same<argument_type_t<F16, lower, std::vector<f>>, h>);
  static_assert(same<argument_type_t<F16, lower, std::span<const f>&>, h>);
  static_assert(same<argument_type_t<F16, lower, const f*>, h>);
  static_assert(same<argument_type_t<F16, lower, std::optional<std::span<f>>>, h>);
  static_assert(same<compute_type_t<F16, lower, const f&, std::string, void*, std::nullptr_t>, h>);  // no numbers in the others
  static_assert(same<compute_type_t<F16, promote, volatile h, const h&&>, h>);
}

TEST_CASE("lists of data count like the data: the operands of a concatenation or a batched product") {
  static_assert(same<compute_type_t<F16, promote, std::vector<std::span<h>>, std::vector<std::vector<f>>>, f>);
  static_assert(same<argument_type_t<F16, promote, std::vector<std::span<const h>>>, h>);
  static_assert(same<argument_type_t<F16, lower, const f* const*>, h>);
  static_assert(same<argument_type_t<F16, lower, f*(&)[2]>, h>);
  static_assert(same<compute_type_t<F16, lower, f, void**, std::vector<std::string>, struct Unknown*>, h>);  // no numbers in the others
}

TEST_CASE("a user's op outside the library follows its own rule and may fix its result") {
  static_assert(call_is<F16, arg_max, List<h>, List<h>, f, std::int64_t>);
  static_assert(call_is<Off, arg_max, List<h>, List<h>, h, std::int64_t>);
}
