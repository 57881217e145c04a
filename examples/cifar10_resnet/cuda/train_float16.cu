#include "train.cuh"

namespace cifar10 {

CIFAR10_TRAIN(Autocast<mezzo::float16>, mezzo::float16);
CIFAR10_TRAIN(Autocast<mezzo::float16>, float);

}  // namespace cifar10
