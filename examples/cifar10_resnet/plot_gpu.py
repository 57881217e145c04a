"""Draws loss and accuracy of all runs in one picture: usage plot_gpu.py PICTURE.png RESULTS_JSON...

The curves of a results.json are the CSV files beside it; those of any other NAME.json are in the folder NAME beside it.
"""
import csv
import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

if len(sys.argv) < 3:
    raise SystemExit(__doc__)
figure, (losses, accuracies) = plt.subplots(1, 2, figsize=(11, 4.2))
for path in map(pathlib.Path, sys.argv[2:]):
    folder = path.parent if path.name == "results.json" else path.with_suffix("")
    for run in json.loads(path.read_text()).get("runs", []):
        name = run["name"] if len(sys.argv) == 3 else f"{run['name']} ({folder.name})"
        with open(folder / f"{run['name']}.csv") as file:
            rows = list(csv.DictReader(file))
        if not rows:   # interrupted before its first row
            continue
        per_epoch = max(int(row["step"]) for row in rows if row["epoch"] == "1")
        at = [int(row["step"]) / per_epoch for row in rows]
        losses.plot(at, [float(row["loss"]) for row in rows], label=name, linewidth=.8)
        tested = [(x, float(row["test_accuracy"])) for x, row in zip(at, rows) if row["test_accuracy"]]
        label = f"{name}: {tested[-1][1]:.2f} %" if tested else f"{name}: not tested"
        accuracies.plot([x for x, _ in tested], [y for _, y in tested], label=label, linewidth=1.2)
losses.set(xlabel="epoch", ylabel="training loss of a batch", yscale="log")
accuracies.set(xlabel="epoch", ylabel="test accuracy, %")
for axes in (losses, accuracies):
    axes.grid(alpha=.3)
    if axes.lines:
        axes.legend()
figure.tight_layout()
figure.savefig(sys.argv[1], dpi=120)
