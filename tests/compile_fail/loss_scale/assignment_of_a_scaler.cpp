// error: use of deleted function
#include <mezzo/loss_scale/dynamic.hpp>
#include <mezzo/executor/host.hpp>
using namespace mezzo;
#ifdef CONTROL
void take(DynamicLossScaler<>& a, DynamicLossScaler<>& b) { a = static_cast<DynamicLossScaler<>&&>(b); }
#else
void take(DynamicLossScaler<>& a, DynamicLossScaler<>& b) { a = b; }
#endif
