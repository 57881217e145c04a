// error: Traced<P>: P must be a policy, such as Autocast<float16>.
#include <mezzo/policy/traced.hpp>
using namespace mezzo;
#ifdef CONTROL
Traced<Autocast<float16>> policy;
#else
Traced<float16> policy;
#endif
