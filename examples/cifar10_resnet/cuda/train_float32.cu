#include "train.cuh"

namespace cifar10 {

CIFAR10_TRAIN(Autocast<float>, float);
CIFAR10_TRAIN(Autocast<float>::disabled, float);

}  // namespace cifar10
