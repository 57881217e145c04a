// error: the elements of this span or pointer have another type than the op reads under this policy
#include <span>
#include <vector>

#include <mezzo/policy/policy.hpp>
#include <mezzo/policy/ops.hpp>
#include <mezzo/policy/view.hpp>
using namespace mezzo;
using Policy = Autocast<float16>;
#ifdef CONTROL
float f(const std::vector<float16>& x) { return autocast<Policy, op::softmax>([](const auto& v) { return v[0]; }, x); }
#else
float f(const std::vector<float16>& x) { return autocast<Policy, op::exp>([](const auto& v) { return v[0]; }, x); }
#endif
