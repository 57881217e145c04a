// error: unscale: double gradients must be unscaled into double; float would lose their range
#include <vector>
#include <mezzo/loss_scale/dynamic.hpp>
#include <mezzo/executor/host.hpp>
using namespace mezzo;
void use(DynamicLossScaler<>& scaler, std::vector<float>& a, std::vector<float>& b, std::vector<float16>& half, std::vector<bfloat16>& brain,
         std::vector<double>& wide, std::vector<int>& integers, const std::vector<float>& fixed) {
  static_cast<void>(a), static_cast<void>(b), static_cast<void>(half), static_cast<void>(brain);
  static_cast<void>(wide), static_cast<void>(integers), static_cast<void>(fixed);
#ifdef CONTROL
  scaler.unscale(a, wide);
}
#else
  scaler.unscale(wide, a);
}
#endif
