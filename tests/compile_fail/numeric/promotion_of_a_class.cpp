// error: promote_t: each type must be one of mezzo's element types, an integer or bool.
#include <mezzo/numeric/promote.hpp>
using namespace mezzo;
struct number {};
#ifdef CONTROL
promote_t<int, float> x;
#else
promote_t<number, float> x;
#endif
