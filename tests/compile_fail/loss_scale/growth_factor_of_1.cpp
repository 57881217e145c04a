// error: LossScaleConfig: growth_factor must be finite and exceed 1, or the scale never grows
#include <mezzo/loss_scale/dynamic.hpp>
#include <mezzo/executor/host.hpp>
using namespace mezzo;
#ifdef CONTROL
DynamicLossScaler<LossScaleConfig{.growth_factor = 1.5f}> scaler{HostExecutor{}};
#else
DynamicLossScaler<LossScaleConfig{.growth_factor = 1.f}> scaler{HostExecutor{}};
#endif
