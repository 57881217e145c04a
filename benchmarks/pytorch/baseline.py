"""The same work as optimizer_step and scaler_overhead, done with PyTorch on the same GPU.

    python3 benchmarks/pytorch/baseline.py [--quick] [--models resnet18,tiny-4096x64] --output pytorch.json

optimizer_step: 16-bit gradients are widened, checked and unscaled, a fused optimizer steps the float32 weights, and these are
rounded into the 16-bit model; eagerly and replayed from a CUDA graph. The scale's own update is left out, in PyTorch's favour.
scaler_overhead: GradScaler.step and update beside the fused optimizer's own step, float32 gradients, eagerly.
check: the finiteness check with unscaling alone, on 16-bit gradients.

Times are medians in microseconds by the same clocks as the C++ programs: `events` around the work on an idle device, `queued`
behind a busy device, `wall` on the host with the wait. Needs PyTorch with CUDA; figures in docs/results.md are from 2.11.
"""
import argparse
import gc
import json
import statistics
import time

import torch

DEVICE = "cuda"
LOW_TYPES = {"float16": torch.float16, "bfloat16": torch.bfloat16}


def resnet18():
    """[out, in, height, width] or [channels] of each of the 62 parameters, for 10 classes."""
    shapes = [(64, 3, 7, 7), (64,), (64,)]
    before = 64
    for width in (64, 128, 256, 512):
        for block in range(2):
            shapes += [(width, before, 3, 3), (width,), (width,), (width, width, 3, 3), (width,), (width,)]
            if before != width:
                shapes += [(width, before, 1, 1), (width,), (width,)]
            before = width
    return shapes + [(10, 512), (10,)]


def gpt2(layers, width):
    shapes = [(50257, width), (1024, width)]
    for _ in range(layers):
        shapes += [(width,), (width,), (3 * width, width), (3 * width,), (width, width), (width,)]
        shapes += [(width,), (width,), (4 * width, width), (4 * width,), (width, 4 * width), (width,)]
    return shapes + [(width,), (width,)]


MODELS = {
    "resnet18": resnet18,
    "gpt2-124M": lambda: gpt2(12, 768),
    "tiny-4096x64": lambda: [(64,)] * 4096,
    "gpt2-1.5B": lambda: gpt2(48, 1600),
}


class Clock:
    def __init__(self, repetitions):
        self.repetitions = repetitions

    def _median(self, sample, warm_up=3):
        for _ in range(warm_up):
            sample()
        return statistics.median(sample() for _ in range(self.repetitions))

    def _sample_events(self, work, busy_cycles=0):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        if busy_cycles:
            torch.cuda._sleep(busy_cycles)
        begin.record()
        work()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e3

    def events(self, work):
        return self._median(lambda: self._sample_events(work))

    def queued(self, work):
        return self._median(lambda: self._sample_events(work, busy_cycles=400_000))

    def wall(self, work):
        def sample():
            start = time.perf_counter()
            work()
            torch.cuda.synchronize()
            return (time.perf_counter() - start) * 1e6

        torch.cuda.synchronize()
        return self._median(sample)


def capture(work):
    """A replay of `work` from a CUDA graph; warmed up on a stream of its own, as capture wants it."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()
    return graph.replay


def make_optimizer(rule, parameters):
    if rule == "AdamW":
        return torch.optim.AdamW(parameters, lr=1e-4, weight_decay=0.01, fused=True, capturable=True)
    return torch.optim.SGD(parameters, lr=1e-3, momentum=0.9, weight_decay=1e-4, fused=True)


def random_parameters(shapes):
    parameters = [torch.nn.Parameter(0.05 * torch.randn(shape, device=DEVICE)) for shape in shapes]
    for parameter in parameters:
        parameter.grad = 1e-3 * torch.randn_like(parameter)
    return parameters


def optimizer_step(rule, low, shapes, clock):
    parameters = random_parameters(shapes)
    masters = [parameter.detach() for parameter in parameters]
    wide_gradients = [parameter.grad for parameter in parameters]
    model = [master.to(low) for master in masters]
    gradients = [torch.randn_like(weight) for weight in model]
    optimizer = make_optimizer(rule, parameters)
    overflow = torch.zeros((), device=DEVICE)
    inverse_scale = torch.full((), 2.0**-16, device=DEVICE)
    optimizer.grad_scale = None
    optimizer.found_inf = overflow

    def step():
        torch._foreach_copy_(wide_gradients, gradients)
        torch._amp_foreach_non_finite_check_and_unscale_(wide_gradients, overflow, inverse_scale)
        optimizer.step()
        torch._foreach_copy_(model, masters)

    figures = {"eager_us": clock.events(step), "eager_wall_us": clock.wall(step)}
    replay = capture(step)
    figures |= {"graph_us": clock.events(replay), "graph_queued_us": clock.queued(replay), "graph_wall_us": clock.wall(replay)}
    if overflow.item() != 0:
        raise RuntimeError("a step was skipped: the figures are not of a whole step")
    return figures


def scaler_overhead(rule, shapes, clock):
    optimizer = make_optimizer(rule, random_parameters(shapes))
    # A scale of 1 that never grows: the gradients, divided in place by every step, stay as they are.
    scaler = torch.amp.GradScaler("cuda", init_scale=1.0, growth_interval=10**9)
    scaler.scale(torch.zeros(1, device=DEVICE))

    def scaled():
        scaler.step(optimizer)
        scaler.update()

    figures = {"plain_us": clock.events(optimizer.step), "plain_wall_us": clock.wall(optimizer.step)}
    figures |= {"scaled_us": clock.events(scaled), "scaled_wall_us": clock.wall(scaled)}
    figures["overhead_us"] = figures["scaled_us"] - figures["plain_us"]
    figures["overhead_wall_us"] = figures["scaled_wall_us"] - figures["plain_wall_us"]
    return figures


def check(low, shapes, clock):
    gradients = [torch.randn(shape, device=DEVICE).to(low) for shape in shapes]
    overflow = torch.zeros((), device=DEVICE)
    inverse_scale = torch.ones((), device=DEVICE)

    def run():
        torch._amp_foreach_non_finite_check_and_unscale_(gradients, overflow, inverse_scale)

    replay = capture(run)
    return {"eager_us": clock.events(run), "eager_wall_us": clock.wall(run),
            "graph_us": clock.events(replay), "graph_queued_us": clock.queued(replay)}


def copy_bandwidth():
    """TB/s, bytes read plus bytes written, of a copy of 4 GiB."""
    source = torch.randn(1 << 30, device=DEVICE)
    target = torch.empty_like(source)
    return 2 * 4 * source.numel() / Clock(10).events(lambda: target.copy_(source)) / 1e6


def free():
    gc.collect()
    torch.cuda.empty_cache()


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--quick", action="store_true", help="fewer repetitions, bfloat16 on ResNet-18 alone")
    options.add_argument("--models", default=",".join(MODELS), help="default: all")
    options.add_argument("--output", help="JSON file to write")
    arguments = options.parse_args()

    torch.manual_seed(0)
    report = {"torch": torch.__version__, "cuda": torch.version.cuda, "device": torch.cuda.get_device_name(),
              "copy_TBps": copy_bandwidth(), "results": []}
    free()
    print(f"PyTorch {report['torch']}, CUDA {report['cuda']}, {report['device']}, copy {report['copy_TBps']:.2f} TB/s", flush=True)

    def record(what, measure, **key):
        try:
            figures = measure()
        except Exception as error:  # one figure less, not none at all
            figures = {"error": f"{type(error).__name__}: {error}"[:300]}
        free()
        report["results"].append({"work": what, **key, **figures})
        shown = " ".join(f"{name} {value:.1f}" if isinstance(value, float) else f"{name} {value}" for name, value in figures.items())
        print(what, *key.values(), shown, flush=True)

    for name in arguments.models.split(","):
        shapes = MODELS[name]()
        large = name == "gpt2-1.5B"
        clock = Clock((8 if large else 15) if arguments.quick else (20 if large else 50))
        types = ["float16"] if large or (arguments.quick and name != "resnet18") else list(LOW_TYPES)
        for rule in ("AdamW", "Sgd"):
            for low in types:
                record("optimizer_step", lambda: optimizer_step(rule, LOW_TYPES[low], shapes, clock), rule=rule, type=low, model=name)
            record("scaler_overhead", lambda: scaler_overhead(rule, shapes, clock), rule=rule, type="float32", model=name)
        record("check", lambda: check(torch.float16, shapes, clock), rule="", type="float16", model=name)
    if arguments.output:
        with open(arguments.output, "w") as file:
            json.dump(report, file, indent=1)


if __name__ == "__main__":
    main()
