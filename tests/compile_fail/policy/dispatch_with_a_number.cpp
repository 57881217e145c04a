// error: PolicyChoices: a choice's name must be text
#include <mezzo/policy/dispatch.hpp>
using namespace mezzo;
#ifdef CONTROL
PolicyChoices<Autocast<float16>, Autocast<bfloat16>> choices{"16", "17"};
#else
PolicyChoices<Autocast<float16>, Autocast<bfloat16>> choices{16, 17};
#endif
