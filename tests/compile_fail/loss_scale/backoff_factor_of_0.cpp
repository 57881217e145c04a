// error: LossScaleConfig: backoff_factor must lie in (0, 1), or an overflow never ends
#include <mezzo/loss_scale/dynamic.hpp>
#include <mezzo/executor/host.hpp>
using namespace mezzo;
#ifdef CONTROL
DynamicLossScaler<LossScaleConfig{.backoff_factor = .1f}> scaler{HostExecutor{}};
#else
DynamicLossScaler<LossScaleConfig{.backoff_factor = 0.f}> scaler{HostExecutor{}};
#endif
