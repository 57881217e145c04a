// error: softmax_cross_entropy: labels must be integers
#include <vector>

#include <mezzo/ops/softmax_cross_entropy.hpp>

using Policy = mezzo::Autocast<mezzo::float16>;

void call(mezzo::Workspace<mezzo::HostExecutor>& workspace) {
  std::vector<mezzo::float16> logits(4), dlogits(4);
#ifdef CONTROL
  std::vector<int> labels(2);
#else
  std::vector<float> labels(2);
#endif
  mezzo::softmax_cross_entropy<Policy>(workspace, {.batch = 2, .classes = 2}, logits, labels, 1.f, {}, dlogits);
}
