#include "train.cuh"

namespace cifar10 {

CIFAR10_TRAIN(Autocast<mezzo::bfloat16>, mezzo::bfloat16);
CIFAR10_TRAIN(Autocast<mezzo::bfloat16>, float);

}  // namespace cifar10
