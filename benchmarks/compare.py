"""Sets the figures of one run side by side: mezzo's programs, PyTorch's script, and what to reach.

    python3 benchmarks/compare.py DIR [--markdown FILE] [--output FILE] [--into FILE]

DIR holds optimizer_step.json and scaler_overhead.json (Google Benchmark) and pytorch.json (pytorch/baseline.py); what is
missing is left out. Prints tables; --markdown writes them, --output writes all figures as JSON, --into puts the tables
between the marks of an existing page (docs/results.md), or at its end when it has none.
"""
import argparse
import json
import os
import sys

# Microseconds on one H200 with a copy bandwidth of 4.24 TB/s.
GOALS = {
    ("optimizer_step", "AdamW", "gpt2-1.5B"): 11400,
    ("optimizer_step", "AdamW", "gpt2-124M"): 910,
    ("optimizer_step", "AdamW", "resnet18"): 100,
    ("optimizer_step", "AdamW", "tiny-4096x64"): 8,
    ("optimizer_step", "Sgd", "gpt2-1.5B"): 8350,
    ("optimizer_step", "Sgd", "gpt2-124M"): 670,
    ("optimizer_step", "Sgd", "resnet18"): 75,
    ("scaler_overhead", "Sgd", "resnet18"): 10,
    ("scaler_overhead", "AdamW", "resnet18"): 10,
}
MODELS = ["resnet18", "gpt2-124M", "gpt2-1.5B", "tiny-4096x64"]


def load(folder, name):
    try:
        with open(os.path.join(folder, name)) as file:
            return json.load(file)
    except FileNotFoundError:
        return None
    except json.JSONDecodeError as error:
        print(f"{name}: not read: {error}", file=sys.stderr)
        return None


def mezzo_figures(report):
    """{(work, rule, type, model, form): {"eager": counters, "graph": counters}}"""
    figures = {}
    for entry in (report or {}).get("benchmarks", []):
        if entry.get("run_type", "iteration") != "iteration":
            continue
        parts = entry["name"].split("/")
        parts = [part for part in parts if not part.startswith(("iterations:", "manual_time", "repeats:"))]
        work, rule, low, model = parts[:4]
        form = parts[4] if len(parts) == 6 else "step"
        if entry.get("error_occurred"):
            print(f"{entry['name']}: {entry.get('error_message')}", file=sys.stderr)
            continue
        figures.setdefault((work, rule, low, model, form), {})[parts[-1]] = entry
    return figures


def microseconds(value):
    if value is None:
        return "–"
    if abs(value) >= 9999.5:
        return f"{value / 1000:.2f} ms"
    return f"{value:.1f}" if abs(value) < 99.95 else f"{value:,.0f}"


BEGIN = "<!-- figures of benchmarks/run_gpu.sh: begin -->"
END = "<!-- figures of benchmarks/run_gpu.sh: end -->"


def put_between_marks(page, text):
    """The page with `text` in place of what stood between the marks; appended under a heading when there are none."""
    if (BEGIN in page) != (END in page) or page.count(BEGIN) > 1 or page.find(BEGIN) > page.find(END):
        raise SystemExit(f"compare: the page must have both marks once, in order, or none: {BEGIN} {END}")
    block = f"{BEGIN}\n\n{text.strip()}\n\n{END}"
    if BEGIN not in page:
        return f"{page.rstrip()}\n\n## On a GPU: optimizer step and loss scaling\n\n{block}\n".lstrip()
    return page[: page.index(BEGIN)] + block + page[page.index(END) + len(END):]


def get(figures, *path):
    for key in path:
        figures = (figures or {}).get(key)
    return figures


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("folder")
    options.add_argument("--markdown", help="file to write the tables to")
    options.add_argument("--output", help="file to write all figures to, as JSON")
    options.add_argument("--into", help="page whose marked part is replaced")
    arguments = options.parse_args()

    step_report = load(arguments.folder, "optimizer_step.json")
    overhead_report = load(arguments.folder, "scaler_overhead.json")
    torch_report = load(arguments.folder, "pytorch.json")
    mezzo = mezzo_figures(step_report) | mezzo_figures(overhead_report)
    torch = {(r["work"], r["rule"], r["type"], r["model"]): r for r in (torch_report or {}).get("results", [])}

    # The yardstick is the best copy that any program of the run saw.
    contexts = [report["context"] for report in (step_report, overhead_report) if report]
    copies = [float(context.get("copy_TBps", 0)) for context in contexts]
    if torch_report:
        copies.append(torch_report["copy_TBps"])
    copy = max(copies, default=0)
    device = contexts[0].get("device", "?") if contexts else get(torch_report, "device") or "?"
    valid = "H200" not in device or copy >= 4.1
    lines = [f"{device}, copy bandwidth {copy:.2f} TB/s (read + write, best of "
             + ", ".join([f"kernel {c.get('copy_kernel_TBps')}, memcpy {c.get('copy_memcpy_TBps')}" for c in contexts]
                         + ([f"PyTorch {torch_report['copy_TBps']:.2f}"] if torch_report else [])) + ")"
             + ("" if valid else "; NOT VALID: below 4.1 TB/s")]
    if torch_report:
        lines[0] += f"; PyTorch {torch_report['torch']}"

    rows = []  # one a line of the table, as values
    for model in MODELS:
        for rule in ("AdamW", "Sgd"):
            for low in ("float16", "bfloat16"):
                ours = mezzo.get(("optimizer_step", rule, low, model, "step"))
                theirs = torch.get(("optimizer_step", rule, low, model))
                if not ours and not theirs:
                    continue
                graph = get(ours, "graph")
                bytes_moved = get(graph, "bytes")
                rows.append({
                    "work": f"{rule} step, {model}, {low}",
                    "mezzo_eager_us": get(ours, "eager", "wall_us"), "mezzo_graph_us": get(graph, "median_us"),
                    "mezzo_device_us": get(graph, "queued_us"), "mezzo_host_us": get(ours, "eager", "host_us"),
                    "pytorch_eager_us": get(theirs, "eager_wall_us"), "pytorch_graph_us": get(theirs, "graph_us"),
                    "pytorch_device_us": get(theirs, "graph_queued_us"), "pytorch_error": get(theirs, "error"),
                    "bytes": bytes_moved,
                    "share_of_copy": bytes_moved / graph["median_us"] / 1e6 / copy if graph and copy else None,
                    "data": get(graph, "label"), "goal_us": GOALS.get(("optimizer_step", rule, model)) if low == "float16" else None,
                })
    overhead_rows = []
    for model in MODELS:
        for rule in ("AdamW", "Sgd"):
            theirs = torch.get(("scaler_overhead", rule, "float32", model))
            for form in ("step", "clip", "unscale", "unscale+clip"):
                ours = mezzo.get(("scaler_overhead", rule, "float16", model, form))
                if not ours and (not theirs or form != "step"):
                    continue
                first = form == "step"
                overhead_rows.append({
                    "work": f"{rule} {form}, {model}",
                    "mezzo_eager_us": get(ours, "eager", "overhead_wall_us"), "mezzo_graph_us": get(ours, "graph", "overhead_us"),
                    "mezzo_device_us": get(ours, "graph", "overhead_queued_us"), "mezzo_host_us": get(ours, "eager", "host_us"),
                    "pytorch_eager_us": get(theirs, "overhead_wall_us") if first else None,
                    "goal_us": GOALS.get(("scaler_overhead", rule, model)) if first else None,
                })
        theirs = torch.get(("check", "", "float16", model))
        ours = mezzo.get(("scaler_overhead", "AdamW", "float16", model, "skipped"))
        if ours or theirs:
            overhead_rows.append({
                "work": f"skipped step; PyTorch: check alone, {model}",
                "mezzo_eager_us": get(ours, "eager", "wall_us"), "mezzo_graph_us": get(ours, "graph", "median_us"),
                "mezzo_device_us": get(ours, "graph", "queued_us"), "mezzo_host_us": get(ours, "eager", "host_us"),
                "pytorch_eager_us": get(theirs, "eager_wall_us"), "pytorch_graph_us": get(theirs, "graph_us"),
                "pytorch_device_us": get(theirs, "graph_queued_us"),
            })

    def table(header, body):
        widths = [max(len(line[i]) for line in [header, *body]) for i in range(len(header))]
        text = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) + " |" for line in [header, *body]]
        text.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
        return text

    def met(row):
        goal, best = row.get("goal_us"), row.get("mezzo_graph_us")
        if goal is None:
            return "–"
        return microseconds(goal) + ("" if best is None else " met" if best <= goal else f" ({best / goal:.2f}x)")

    lines += ["", "Times in microseconds: eager by the host's clock with the wait, graph by events around a replay on an idle device, "
              "device: the replay behind a busy device."]
    if rows:
        lines += ["", "Optimizer step: 16-bit gradients, float32 masters, 16-bit model.", ""]
        lines += table(["work", "mezzo eager", "graph", "device", "PyTorch eager", "graph", "GB", "share of copy", "data", "goal"],
                       [[row["work"], microseconds(row["mezzo_eager_us"]), microseconds(row["mezzo_graph_us"]),
                         microseconds(row["mezzo_device_us"]), microseconds(row["pytorch_eager_us"]),
                         microseconds(row["pytorch_graph_us"]), "–" if row["bytes"] is None else f"{row['bytes'] / 1e9:.3g}",
                         "–" if row["share_of_copy"] is None else f"{100 * row['share_of_copy']:.0f} %", row["data"] or "–", met(row)]
                        for row in rows])
    if overhead_rows:
        lines += ["", "What the scaler adds to the optimizer's own step; host: what the calls cost the host while the device is busy.", ""]
        lines += table(["work", "mezzo eager", "graph", "device", "host", "PyTorch eager", "graph", "goal"],
                       [[row["work"], microseconds(row["mezzo_eager_us"]), microseconds(row["mezzo_graph_us"]),
                         microseconds(row["mezzo_device_us"]), microseconds(row["mezzo_host_us"]),
                         microseconds(row["pytorch_eager_us"]), microseconds(row.get("pytorch_graph_us")), met(row)]
                        for row in overhead_rows])
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if arguments.markdown:
        with open(arguments.markdown, "w") as file:
            file.write(text)
    if arguments.into:
        page = ""
        if os.path.exists(arguments.into):
            with open(arguments.into) as file:
                page = file.read()
        page = put_between_marks(page, text)
        with open(arguments.into, "w") as file:
            file.write(page)
    if arguments.output:
        with open(arguments.output, "w") as file:
            json.dump({"device": device, "copy_TBps": copy, "valid": valid, "torch": get(torch_report, "torch"),
                       "optimizer_step": rows, "scaler_overhead": overhead_rows}, file, indent=1)


if __name__ == "__main__":
    main()
