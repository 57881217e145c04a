// error: PolicyChoices<Policies...>: every choice must be a policy
#include <string_view>

#include <mezzo/policy/dispatch.hpp>
using namespace mezzo;
#ifdef CONTROL
PolicyChoices<Autocast<float16>> choices{"float16"};
#else
PolicyChoices<float16> choices{"float16"};
#endif
