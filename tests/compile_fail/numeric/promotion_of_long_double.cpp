// error: promote_t: each type must be one of mezzo's element types, an integer or bool.
#include <mezzo/numeric/promote.hpp>
using namespace mezzo;
#ifdef CONTROL
promote_t<float16, double> x;
#else
promote_t<float16, long double> x;
#endif
