"""Every metric that the rules and the dashboard name is exported by a running coordinator."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import urllib.request

program, root = sys.argv[1], pathlib.Path(sys.argv[2])
rules = (root / "deploy/monitoring/alerts.yaml").read_text()
dashboard = json.loads((root / "deploy/monitoring/dashboard.json").read_text())
texts = re.findall(r"expr: (.*)", rules)
for panel in dashboard["panels"]:
    texts += [target["expr"] for target in panel["targets"]]
texts += [variable["query"]["query"] for variable in dashboard["templating"]["list"] if variable["type"] == "query"]
named = {name for text in texts for name in re.findall(r"\brlbayes_[a-z_]+", text)}
assert len(named) > 15, named


def figures(text):
    return {re.split(r"[{ ]", line)[0] for line in text.splitlines() if not line.startswith("#")}


with tempfile.TemporaryDirectory() as folder:
    processes = []
    try:
        address_file = pathlib.Path(folder) / "address"
        log = open(pathlib.Path(folder) / "log", "w+")
        processes.append(subprocess.Popen(
            [program, "coordinator", "--data", root / "data/alarm.csv", "--state", f"{folder}/state", "--time", "1h",
             "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--address-file", address_file], stderr=log))
        deadline = time.time() + 120
        web, exported, missing = None, set(), named
        while missing and time.time() < deadline:
            time.sleep(0.2)
            assert processes[0].poll() is None, "the coordinator has ended"
            told = re.search(r"page, metrics and status on (http://\S+)", (pathlib.Path(folder) / "log").read_text())
            if not told or not address_file.exists():
                continue
            if len(processes) == 1:
                url = address_file.read_text().split()[0]
                processes.append(subprocess.Popen(
                    [program, "worker", "--coordinator", url, "--threads", "1", "--state", f"{folder}/worker"],
                    stderr=subprocess.DEVNULL))
            with urllib.request.urlopen(f"{told[1]}/metrics", timeout=10) as answer:
                exported = figures(answer.read().decode())
            missing = named - exported
        assert not missing, f"named but not exported: {sorted(missing)}"
    finally:
        for process in reversed(processes):
            process.terminate()
            process.wait(60)
print(f"all {len(named)} metrics that the rules and the dashboard name are exported")
