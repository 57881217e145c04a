// error: LossScaleConfig: max_consecutive_skips must not be negative; 0 means no limit
#include <mezzo/loss_scale/dynamic.hpp>
#include <mezzo/executor/host.hpp>
using namespace mezzo;
#ifdef CONTROL
DynamicLossScaler<LossScaleConfig{.max_consecutive_skips = 0}> scaler{HostExecutor{}};
#else
DynamicLossScaler<LossScaleConfig{.max_consecutive_skips = -1}> scaler{HostExecutor{}};
#endif
