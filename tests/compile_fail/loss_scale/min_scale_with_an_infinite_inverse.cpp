// error: LossScaleConfig: min_scale must lie in [2^-126, 2^126]; below, 1 / scale is infinite
#include <mezzo/loss_scale/dynamic.hpp>
#include <mezzo/executor/host.hpp>
using namespace mezzo;
#ifdef CONTROL
DynamicLossScaler<LossScaleConfig{.min_scale = 0x1p-126f}> scaler{HostExecutor{}};
#else
DynamicLossScaler<LossScaleConfig{.min_scale = 0x1p-128f}> scaler{HostExecutor{}};
#endif
