"""The table of compare_gpu.sh: usage compare_gpu.py OUT_DIR DEPTH:BATCH... Exits 1 when a check fails."""
import csv
import json
import math
import pathlib
import statistics
import sys

out, cells = pathlib.Path(sys.argv[1]), sys.argv[2:]
PRECISIONS = ("float32", "tf32", "float16", "bfloat16")
failures = []
result = {"runs": [], "checks": []}


def rows(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def check(name, got, bound):
    held = got <= bound
    result["checks"].append({"check": name, "got": got, "bound": bound, "held": held})
    if not held:
        failures.append(f"FAILED: {name}: {got:.3g} exceeds {bound:.3g}")


# Host and device sum in other orders. A loss is a mean over 50 images behind 9 convolutions of at most 576 products each;
# a step multiplies what differs by about the learning rate times a gradient's size, here at most tenfold.
try:
    for host, cuda in zip(rows(out / "start_host" / "float32.csv"), rows(out / "start_cuda" / "float32.csv")):
        step = int(host["step"])
        got = abs(float(cuda["loss"]) / float(host["loss"]) - 1)
        check(f"float32 on host and device, loss of step {step}, relative", got, 9 * 576 * 2**-24 * 10 ** (step - 1))
except OSError as error:
    failures.append(f"FAILED: {error}")

pytorch = {}
if (out / "pytorch.json").exists():
    figures = json.loads((out / "pytorch.json").read_text())
    result["pytorch"] = figures
    for run in figures["runs"]:
        pytorch[run["depth"], run["batch"], run["precision"], run["form"]] = run

print("| network, batch | precision | images/s | PyTorch eager | PyTorch graph | peak GiB | counted GiB | PyTorch GiB | loss |")
print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
for cell in cells:
    depth, batch = map(int, cell.split(":"))
    folder = out / f"resnet{depth}.{batch}"
    try:
        runs = {run["name"]: run for run in json.loads((folder / "results.json").read_text())["runs"]}
    except (OSError, KeyError, ValueError) as error:
        failures.append(f"FAILED: {folder}: {error}")
        continue
    losses = {}
    for precision in PRECISIONS:
        if precision not in runs:
            failures.append(f"FAILED: ResNet-{depth}, batch {batch}: no {precision}")
            continue
        run = runs[precision]
        last = [float(row["loss"]) for row in rows(folder / f"{precision}.csv")][-10:]
        losses[precision] = last
        counted = sum(run["bytes"].values())
        eager, graph = (pytorch.get((depth, batch, precision, form), {}) for form in ("eager", "graph"))
        cells_of = [f"{run['images_per_second']:,.0f}"]
        for other in (eager, graph):
            speed = other.get("images_per_second")
            cells_of.append(f"{speed:,.0f} ({run['images_per_second'] / speed:.2f} x)" if speed else "-")
        cells_of.append(f"{run['device_bytes']['peak_in_training'] / 2**30:.2f}")
        cells_of.append(f"{counted / 2**30:.2f}")
        cells_of.append(f"{eager['peak_bytes'] / 2**30:.2f}" if eager else "-")
        cells_of.append(f"{statistics.mean(last):.3f}")
        print(f"| ResNet-{depth}, {batch} | {precision} | " + " | ".join(cells_of) + " |")
        result["runs"].append({"depth": depth, "batch": batch, "precision": precision, "images_per_second": run["images_per_second"],
                               "peak_bytes": run["device_bytes"]["peak_in_training"], "counted_bytes": counted,
                               "mean_loss_of_last_rows": statistics.mean(last), "skipped_steps": run["skipped_steps"]})
        if eager:
            check(f"ResNet-{depth}, batch {batch}, {precision}: PyTorch's eager speed over ours",
                  eager["images_per_second"] / run["images_per_second"], 1)
    # Runs that differ in a rounding drift apart, and then differ like independent ones: the mean of n losses, each off by the
    # batches' deviation s, differs by s * sqrt(2 / n). Four of these, and 3 % for what is left of the way they went apart.
    if "float32" in losses:
        base = losses["float32"]
        bound = 4 * statistics.stdev(base) * math.sqrt(2 / len(base)) + .03 * statistics.mean(base) if len(base) > 1 else 0
        for precision in PRECISIONS[1:]:
            if precision in losses:
                check(f"ResNet-{depth}, batch {batch}, {precision}: mean loss of the last {len(base)} rows against float32's",
                      abs(statistics.mean(losses[precision]) - statistics.mean(base)), bound)
print()
print("\n".join(failures) if failures else f"all {len(result['checks'])} checks hold")
(out / "gpu.json").write_text(json.dumps(result, indent=2) + "\n")
sys.exit(bool(failures))
