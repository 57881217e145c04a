// error: PolicyChoices: give one name for each policy, in the same order.
#include <string_view>

#include <mezzo/policy/dispatch.hpp>
using namespace mezzo;
#ifdef CONTROL
PolicyChoices<Autocast<float>, Autocast<float16>> choices{"float32", "float16"};
#else
PolicyChoices<Autocast<float>, Autocast<float16>> choices{"float32"};
#endif
