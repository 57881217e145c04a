// error: LossScaleConfig: max_scale must lie in [2^-126, 2^126]; above, 1 / scale is subnormal
#include <mezzo/loss_scale/dynamic.hpp>
#include <mezzo/executor/host.hpp>
using namespace mezzo;
#ifdef CONTROL
DynamicLossScaler<LossScaleConfig{.max_scale = 0x1p126f}> scaler{HostExecutor{}};
#else
DynamicLossScaler<LossScaleConfig{.max_scale = 0x1p127f}> scaler{HostExecutor{}};
#endif
