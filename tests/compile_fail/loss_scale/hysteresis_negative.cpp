// error: LossScaleConfig: hysteresis must not be negative
#include <mezzo/loss_scale/dynamic.hpp>
#include <mezzo/executor/host.hpp>
using namespace mezzo;
#ifdef CONTROL
DynamicLossScaler<LossScaleConfig{.hysteresis = 0}> scaler{HostExecutor{}};
#else
DynamicLossScaler<LossScaleConfig{.hysteresis = -1}> scaler{HostExecutor{}};
#endif
