// error: data is never cast behind your back
#include <optional>
#include <span>
#include <vector>

#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
#include <mezzo/policy/view.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
const auto first = [](const auto& x) { return (*x)[0]; };
#ifdef CONTROL
float16 f(std::optional<std::span<const float16>> x) { return autocast<Policy, op::matmul>(first, x); }
#else
float16 f(std::optional<std::span<const float>> x) { return autocast<Policy, op::matmul>(first, x); }
#endif
