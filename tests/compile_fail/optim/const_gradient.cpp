// error: Parameter: model and gradient must be writable; a range of const elements cannot be updated or zeroed
#include <vector>
#include <mezzo/executor/host.hpp>
#include <mezzo/optim/adamw.hpp>
#include <mezzo/optim/master_optimizer.hpp>
#include <mezzo/optim/sgd.hpp>
using namespace mezzo;
using Parameter = MasterOptimizer<Sgd, float16>::Parameter;
void use(std::vector<float16>& w, std::vector<float16>& g, const std::vector<float16>& fixed, std::vector<bfloat16>& brain, std::vector<double>& wide,
         std::vector<int>& integers, std::vector<float>& single) {
  static_cast<void>(w), static_cast<void>(g), static_cast<void>(fixed), static_cast<void>(brain);
  static_cast<void>(wide), static_cast<void>(integers), static_cast<void>(single);
#ifdef CONTROL
  static_cast<void>(Parameter{w, g});
}
#else
  static_cast<void>(Parameter{w, fixed});
}
#endif
