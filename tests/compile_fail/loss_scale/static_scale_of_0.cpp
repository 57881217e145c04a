// error: StaticLossScaler: the scale must lie in [2^-126, 2^126]; it is the factor itself, not its exponent
#include <mezzo/loss_scale/static.hpp>
#include <mezzo/executor/host.hpp>
using namespace mezzo;
#ifdef CONTROL
StaticLossScaler<16.f> scaler{HostExecutor{}};
#else
StaticLossScaler<0.f> scaler{HostExecutor{}};
#endif
