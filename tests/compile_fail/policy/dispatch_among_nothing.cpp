// error: PolicyChoices: name at least one policy to choose from.
#include <string_view>

#include <mezzo/policy/dispatch.hpp>
using namespace mezzo;
#ifdef CONTROL
PolicyChoices<Autocast<float16>> choices{"float16"};
#else
PolicyChoices<> choices{};
#endif
