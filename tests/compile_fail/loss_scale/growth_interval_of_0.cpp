// error: LossScaleConfig: growth_interval must be at least 1
#include <mezzo/loss_scale/dynamic.hpp>
#include <mezzo/executor/host.hpp>
using namespace mezzo;
#ifdef CONTROL
DynamicLossScaler<LossScaleConfig{.growth_interval = 1}> scaler{HostExecutor{}};
#else
DynamicLossScaler<LossScaleConfig{.growth_interval = 0}> scaler{HostExecutor{}};
#endif
