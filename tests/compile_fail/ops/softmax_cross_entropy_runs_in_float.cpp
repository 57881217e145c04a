// error: softmax_cross_entropy: the policy asks for cross_entropy in a 16-bit type
#include <vector>

#include <mezzo/ops/softmax_cross_entropy.hpp>

using Policy = mezzo::Autocast<mezzo::float16>;

void call(mezzo::Workspace<mezzo::HostExecutor>& workspace) {
  std::vector<mezzo::float16> logits(4), dlogits(4);
  std::vector<int> labels(2);
#ifdef CONTROL
  using Tuned = Policy;
#else
  using Tuned = Policy::with<mezzo::op::cross_entropy, mezzo::CastRule::lower_precision>;
#endif
  mezzo::softmax_cross_entropy<Tuned>(workspace, {.batch = 2, .classes = 2}, logits, labels, 1.f, {}, dlogits);
}
