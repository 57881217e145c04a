// error: LossScaleConfig: init_scale must lie in [min_scale, max_scale]
#include <mezzo/loss_scale/dynamic.hpp>
#include <mezzo/executor/host.hpp>
using namespace mezzo;
#ifdef CONTROL
DynamicLossScaler<LossScaleConfig{.init_scale = 2.f, .min_scale = 2.f}> scaler{HostExecutor{}};
#else
DynamicLossScaler<LossScaleConfig{.init_scale = 1.f, .min_scale = 2.f}> scaler{HostExecutor{}};
#endif
