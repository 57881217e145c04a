#pragma once
// The models that are measured: how many elements each of their parameters has.

#include <cstddef>
#include <string>
#include <vector>

namespace mezzo::bench {

struct Model {
  std::string name;
  std::vector<std::size_t> sizes;  ///< elements of each parameter, in the order of the forward pass

  [[nodiscard]] std::size_t elements() const {
    std::size_t sum = 0;
    for (const std::size_t size : sizes) sum += size;
    return sum;
  }
};

/// ResNet-18 for 10 classes: 62 parameters, 11,181,642 elements. One line a group of layers, as [out, in, height, width].
inline Model resnet18() {
  return {"resnet18",
          {
              64 * 3 * 7 * 7,     64,  64,                                                 // stem: convolution, batch norm
              64 * 64 * 3 * 3,    64,  64,  64 * 64 * 3 * 3,    64,  64,                   // stage 1, block 1
              64 * 64 * 3 * 3,    64,  64,  64 * 64 * 3 * 3,    64,  64,                   // stage 1, block 2
              128 * 64 * 3 * 3,   128, 128, 128 * 128 * 3 * 3,  128, 128, 128 * 64,  128, 128,  // stage 2, block 1, shortcut
              128 * 128 * 3 * 3,  128, 128, 128 * 128 * 3 * 3,  128, 128,                  // stage 2, block 2
              256 * 128 * 3 * 3,  256, 256, 256 * 256 * 3 * 3,  256, 256, 256 * 128, 256, 256,  // stage 3, block 1, shortcut
              256 * 256 * 3 * 3,  256, 256, 256 * 256 * 3 * 3,  256, 256,                  // stage 3, block 2
              512 * 256 * 3 * 3,  512, 512, 512 * 512 * 3 * 3,  512, 512, 512 * 256, 512, 512,  // stage 4, block 1, shortcut
              512 * 512 * 3 * 3,  512, 512, 512 * 512 * 3 * 3,  512, 512,                  // stage 4, block 2
              10 * 512,           10,                                                      // classifier
          }};
}

/// GPT-2 with tied embeddings: 50,257 tokens, 1,024 positions.
inline Model gpt2(std::string name, std::size_t layers, std::size_t width) {
  Model model{std::move(name), {50257 * width, 1024 * width}};
  for (std::size_t layer = 0; layer < layers; ++layer) {
    const std::size_t block[] = {width, width, 3 * width * width, 3 * width, width * width,     width,   // norm, attention
                                 width, width, 4 * width * width, 4 * width, 4 * width * width, width};  // norm, MLP
    model.sizes.insert(model.sizes.end(), std::begin(block), std::end(block));
  }
  model.sizes.insert(model.sizes.end(), {width, width});
  return model;
}

inline Model gpt2_124m() { return gpt2("gpt2-124M", 12, 768); }   // 148 parameters, 124,439,808 elements
inline Model gpt2_1558m() { return gpt2("gpt2-1.5B", 48, 1600); }  // 580 parameters, 1,557,611,200 elements

/// Many tiny parameters: what a launch for each of them would cost.
inline Model tiny() { return {"tiny-4096x64", std::vector<std::size_t>(4096, 64)}; }

}  // namespace mezzo::bench
