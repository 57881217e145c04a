"""Training steps of the CIFAR-10 ResNets of examples/cifar10_resnet, done with PyTorch on the same GPU.

    python3 benchmarks/pytorch/resnet.py --cells 18:256,20:1024 [--precisions float32,float16] --output pytorch.json

Each step: forward, loss, backward, SGD with momentum (fused), and for float16 the loss scaler. Channels last, cuDNN picks its
kernels by timing. One batch of random images lies on the device; cropping and mirroring are left out, in PyTorch's favour.
`eager` calls each operation; `graph` replays a recording of the whole step, for float16 with the scaler's check and a scale that
stays, in PyTorch's favour again. Needs PyTorch with CUDA; figures in docs/results.md are from 2.11.
"""
import argparse
import gc
import json
import time

import torch
from torch import nn
from torch.nn import functional

WIDTHS = {18: ((64, 128, 256, 512), 2), 20: ((16, 32, 64), 3)}
LOW = {"float16": torch.float16, "bfloat16": torch.bfloat16}


def convolution(before, after, kernel, stride):
    return nn.Sequential(nn.Conv2d(before, after, kernel, stride, kernel // 2, bias=False), nn.BatchNorm2d(after))


class Residual(nn.Module):
    def __init__(self, before, after, stride):
        super().__init__()
        self.first = convolution(before, after, 3, stride)
        self.second = convolution(after, after, 3, 1)
        self.shortcut = convolution(before, after, 1, stride) if stride != 1 or before != after else nn.Identity()

    def forward(self, x):
        return functional.relu(self.second(functional.relu(self.first(x))) + self.shortcut(x))


class Network(nn.Module):
    """Stem of 3 x 3, stages of residual blocks, mean over the image, linear classifier."""

    def __init__(self, depth):
        super().__init__()
        widths, blocks = WIDTHS[depth]
        self.stem = convolution(3, widths[0], 3, 1)
        layers, before = [], widths[0]
        for stage, width in enumerate(widths):
            for block in range(blocks):
                layers.append(Residual(before, width, 2 if stage and not block else 1))
                before = width
        self.blocks = nn.Sequential(*layers)
        self.classifier = nn.Linear(before, 10)

    def forward(self, x):
        return self.classifier(self.blocks(functional.relu(self.stem(x))).mean((2, 3)))


class Training:
    def __init__(self, depth, batch, precision):
        exact = precision == "float32"
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = not exact
        torch.backends.cudnn.benchmark = True
        torch.manual_seed(1)
        self.network = Network(depth).cuda().to(memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=.1, momentum=.9, weight_decay=5e-4, fused=True)
        self.low = LOW.get(precision)
        self.scaler = torch.amp.GradScaler("cuda", enabled=precision == "float16")
        self.images = torch.randn(batch, 3, 32, 32, device="cuda").to(memory_format=torch.channels_last)
        self.labels = torch.randint(10, (batch,), device="cuda")
        self.scale = torch.full((), 65536., device="cuda")

    def loss(self):
        with torch.autocast("cuda", dtype=self.low or torch.float16, enabled=self.low is not None):
            return functional.cross_entropy(self.network(self.images), self.labels)

    def eager(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(self.loss()).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def recordable(self):
        """The step without the scaler's questions to the host."""
        self.optimizer.zero_grad(set_to_none=True)
        if self.low is not torch.float16:
            self.loss().backward()
        else:
            (self.loss() * self.scale).backward()
            found = torch.zeros((), device="cuda")
            gradients = [p.grad for p in self.network.parameters()]
            torch._amp_foreach_non_finite_check_and_unscale_(gradients, found, self.scale.reciprocal())
            self.optimizer.grad_scale, self.optimizer.found_inf = None, found
        self.optimizer.step()

    def graph(self):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                self.recordable()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.recordable()
        return graph.replay


def images_per_second(step, batch, warm_up, steps):
    for _ in range(warm_up):
        step()
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(steps):
        step()
    torch.cuda.synchronize()
    return batch * steps / (time.perf_counter() - begin)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", default="18:256,18:1024,20:256,20:1024", help="depth:batch, separated by commas")
    parser.add_argument("--precisions", default="float32,tf32,float16,bfloat16")
    parser.add_argument("--warm-up", type=int, default=20)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--output", required=True)
    options = parser.parse_args()

    report = {"torch": torch.__version__, "cuda": torch.version.cuda, "cudnn": torch.backends.cudnn.version(),
              "gpu": torch.cuda.get_device_name(), "runs": []}
    for cell in options.cells.split(","):
        depth, batch = map(int, cell.split(":"))
        for precision in options.precisions.split(","):
            for form in ("eager", "graph"):
                torch.cuda.reset_peak_memory_stats()
                training = Training(depth, batch, precision)
                step = training.eager if form == "eager" else training.graph()
                speed = images_per_second(step, batch, options.warm_up, options.steps)
                run = {"depth": depth, "batch": batch, "precision": precision, "form": form, "images_per_second": speed,
                       "peak_bytes": torch.cuda.max_memory_allocated()}
                report["runs"].append(run)
                print(f"ResNet-{depth} batch {batch} {precision} {form}: {speed:,.0f} images/s, "
                      f"peak {run['peak_bytes'] / 2**30:.2f} GiB", flush=True)
                del training, step
                gc.collect()
                torch.cuda.empty_cache()
                with open(options.output, "w") as file:
                    json.dump(report, file, indent=2)


if __name__ == "__main__":
    main()
