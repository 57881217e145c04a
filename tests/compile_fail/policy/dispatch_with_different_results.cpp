// error: PolicyChoices::dispatch: the function must return the same type for every policy.
#include <string_view>

#include <mezzo/policy/dispatch.hpp>
using namespace mezzo;
constexpr PolicyChoices<Autocast<float>, Autocast<float16>> choices{"float32", "float16"};
#ifdef CONTROL
float f(std::string_view name) { return choices.dispatch(name, []<class P>(P) { return 1.f; }); }
#else
float f(std::string_view name) { return choices.dispatch(name, []<class P>(P) { return typename P::low_type{}; }); }
#endif
