"""Searches that take a while: interrupted, watched, in threads and in other processes."""

import concurrent.futures
import io
import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time

import numpy
import pytest
from conftest import ALARM, ROOT

import rlbayes

SAME = {"evaluations": 200_000, "threads": 1, "seed": 3, "progress": False}
LONG = {"time": 300, "prove": "off", "progress": False}


def cpu_seconds(process: int) -> float:
    with open(f"/proc/{process}/stat") as numbers:
        parts = numbers.read().rsplit(")", 1)[1].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


def interrupted(settings: str, code: str) -> tuple[str, float, float]:
    """Send SIGINT to a search that is under way; return what it printed, and what it still took."""
    program = (
        "import rlbayes, sys, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "def ready(now):\n"
        "    if now.best_score is not None and now.elapsed > 0.5: print('ready', flush=True)\n"
        f"settings = dict(time=300, prove='off', progress=ready, {settings})\n"
        f"{code.format(table=str(ALARM))}\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "ready\n", child.stderr.read()
        before = cpu_seconds(child.pid)
        sent = time.monotonic()
        child.send_signal(signal.SIGINT)
        lines = (line for line in child.stdout if line != "ready\n")
        line = next(lines, "")
        took, spent = time.monotonic() - sent, cpu_seconds(child.pid) - before
        print("answered after", round(took, 2), "s and", round(spent, 2), "CPU s")
        return line or child.stderr.read(), took, spent
    finally:
        child.kill()
        child.wait(30)
        child.stdout.close()
        child.stderr.close()


@pytest.mark.parametrize("threads", [1, 2])
def test_ctrl_c_returns_the_best_so_far_within_a_second(threads):
    code = (
        "found = rlbayes.learn({table!r}, **settings)\n"
        "print(found.stopped_by, len(found.network.edges), flush=True)\n"
        "import time; time.sleep(60)"
    )
    line, took, spent = interrupted(f"threads={threads}", code)
    assert line.startswith("interrupt ") and int(line.split()[1]) > 20, line
    # On a machine that does nothing else this is the time; on a busy one time says nothing.
    assert spent < threads and took < 60


def test_ctrl_c_raises_where_that_is_wanted():
    code = (
        "try: rlbayes.learn({table!r}, on_interrupt='raise', **settings)\n"
        "except KeyboardInterrupt: print('raised', flush=True)\n"
        "import time; time.sleep(60)"
    )
    line, _, spent = interrupted("threads=1", code)
    assert line == "raised\n" and spent < 1


def raised_after(code: str) -> float:
    """Send SIGINT while a call is under way; return the seconds until its exception arrives."""
    program = (
        "import rlbayes, threading, signal, os, time, warnings\n"
        "warnings.simplefilter('ignore')\n"
        f"{code}\n"
        "sent = []\n"
        "def interrupt():\n"
        "    sent.append(time.monotonic())\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "threading.Timer(0.5, interrupt).start()\n"
        "try: call(); print('returned', flush=True)\n"
        "except KeyboardInterrupt: print(time.monotonic() - sent[0], flush=True)\n"
        "os._exit(0)\n"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0 and ran.stdout.strip() not in ("", "returned"), ran.stdout + ran.stderr
    return float(ran.stdout)


@pytest.mark.parametrize(
    "call",
    [
        "network.sample(20_000_000, kind='dict')",
        "network.fit(table, alpha='auto')",
    ],
)
def test_ctrl_c_ends_calls_of_networks(call):
    code = (
        f"network = rlbayes.read({str(ROOT / 'data' / 'networks' / 'alarm.bif')!r})\n"
        "from rlbayes._tables import make_table\n"
        "from rlbayes import _engine\n"
        "read = _engine.ReadOptions(network=network._inner)\n"
        f"table = make_table(network.sample({10 if 'kind' in call else 3_000_000}), read)\n"
        f"call = lambda: [{call} for _ in range(50)]"
    )
    assert raised_after(code) < 5


@pytest.mark.parametrize("call", ["status()", "result()", "stop()", "watch().__next__()"])
def test_ctrl_c_ends_questions_to_a_coordinator_that_is_silent(call):
    code = (
        "import socket\n"
        "silent = socket.create_server(('127.0.0.1', 0))\n"
        "cluster = rlbayes.connect(f'http://127.0.0.1:{silent.getsockname()[1]}')\n"
        f"call = lambda: cluster.{call}"
    )
    assert raised_after(code) < 5


def test_ctrl_c_ends_the_command_in_the_package_as_the_program(tmp_path):
    command = [
        sys.executable,
        "-m",
        "rlbayes",
        "learn",
        str(ALARM),
        "--time",
        "300s",
        "--prove",
        "off",
        "--threads",
        "1",
    ]
    child = subprocess.Popen([*command, "-o", str(tmp_path / "a.bif")], stderr=subprocess.PIPE, text=True)
    try:
        time.sleep(2)
        child.send_signal(signal.SIGINT)
        said = child.communicate(timeout=60)[1]
    finally:
        child.kill()
    assert child.returncode == 130 and "Traceback" not in said and (tmp_path / "a.bif").exists(), said


def test_a_search_that_nobody_can_ask_is_stopped(alarm):
    threads = len(os.listdir("/proc/self/task"))
    search = rlbayes.start(alarm, time=300, prove="off", threads=1)
    assert len(os.listdir("/proc/self/task")) > threads
    del search
    deadline = time.monotonic() + 60
    while len(os.listdir("/proc/self/task")) > threads:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_an_interrupted_bootstrap_says_what_it_is_based_on(related):
    raised = []

    def interrupt(now):
        if now.replicates[0] >= 3 and not raised:
            raised.append(now)
            raise KeyboardInterrupt

    with pytest.warns(UserWarning, match=r"interrupted: based on \d+ replicates"):
        support = rlbayes.bootstrap(related, replicates=100_000, progress=interrupt)
    assert 3 <= support.replicates < 100_000 and support.strength("smoke", "cough") == 1.0
    raised.clear()
    with pytest.raises(KeyboardInterrupt):
        rlbayes.bootstrap(related, replicates=100_000, progress=interrupt, on_interrupt="raise")


def test_a_callback_stops_and_its_errors_arrive(alarm):
    result = rlbayes.learn(alarm, **{**LONG, "progress": lambda now: now.best_score is not None})
    assert result.stopped_by == "interrupt" and result.network.edges

    result = rlbayes.learn(alarm, **{**LONG, "progress": lambda now: numpy.bool_(now.best_score is not None)})
    assert result.stopped_by == "interrupt"

    def broken(now):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        rlbayes.learn(alarm, **{**LONG, "progress": broken})


def test_a_handle_is_watched_and_stopped_from_another_thread(alarm):
    search = rlbayes.start(alarm, **{name: value for name, value in LONG.items() if name != "progress"})
    seen = []
    for now in search.watch():
        seen.append(now.best_score)
        if now.best_score is not None and len(seen) == 3:
            threading.Thread(target=search.stop).start()
    assert len(seen) >= 3 and search.result() is search.result()
    assert search.result().stopped_by == "interrupt" and search.result().score >= seen[-1]


def test_several_threads_wait_for_one_handle(alarm):
    for _ in range(20):
        search = rlbayes.start(alarm, evaluations=2000, threads=1, prove="off")
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            waiting = [pool.submit(search.result) for _ in range(4)]
            results = [each.result(60) for each in waiting]
        assert all(result is results[0] for result in results) and results[0].network.nodes
        assert list(search.watch()) == []


def test_the_error_of_a_search_is_raised_each_time(alarm, tmp_path):
    (tmp_path / "file").write_text("no folder")
    search = rlbayes.start(alarm, state=tmp_path / "file", threads=1)
    for _ in range(2):
        with pytest.raises(rlbayes.InputError, match="file"):
            search.result()


def test_two_searches_in_two_threads(alarm):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda seed: rlbayes.learn(alarm, **{**SAME, "seed": seed}), (3, 4)))
    assert [result.score for result in found] == [
        rlbayes.learn(alarm, **{**SAME, "seed": seed}).score for seed in (3, 4)
    ]


def test_other_threads_run_meanwhile(alarm):
    ticks = []
    done = threading.Event()

    def tick():
        while not done.wait(0.01):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    rlbayes.learn(alarm, time=1, prove="off", progress=False)
    done.set()
    thread.join()
    # Held for the whole second, there would be one or two.
    assert len(ticks) > 10


def _learned(seed):
    return rlbayes.learn(ALARM, **{**SAME, "seed": seed})


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_results_come_back_from_other_processes(method):
    here = _learned(3)
    with multiprocessing.get_context(method).Pool(2) as pool:
        there = pool.map(_learned, [3, 4])
    assert there[0].score == here.score and there[0].network == here.network
    assert there[0].edges.equals(here.edges)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_search_is_not_waited_for_in_a_forked_process(alarm):
    search = rlbayes.start(alarm, time=300, prove="off")
    try:
        child = os.fork()
        if child == 0:
            try:
                search.result()
            except rlbayes.InputError as error:
                os._exit(7 if "forked" in str(error) else 8)
            os._exit(9)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    finally:
        search.stop()
    assert search.result().stopped_by == "interrupt"


def test_new_bests_are_logged(alarm, caplog):
    with caplog.at_level(logging.INFO, logger="rlbayes"):
        rlbayes.learn(alarm, **SAME)
    assert any("best score" in record.message for record in caplog.records)


@pytest.mark.parametrize("has_tqdm", [True, False])
def test_a_bar_is_shown(alarm, capsys, monkeypatch, has_tqdm):
    if not has_tqdm:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    result = rlbayes.learn(alarm, **{**LONG, "time": 2, "progress": True})
    shown = capsys.readouterr().err
    assert f"best score {result.trace[0][2]:.3f}" in shown or "best score" in shown
    assert "[" in shown and shown.endswith("\n")
    rlbayes.bootstrap(alarm, replicates=3, replicate_evaluations=2000, progress=True)
    assert "replicates" in capsys.readouterr().err
    rlbayes.learn(alarm, **{**SAME, "progress": "auto"})
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("stderr", "progress"), [(None, "auto"), (None, True), (object(), "auto"), ("closed", "auto")])
def test_a_search_needs_no_place_to_print(related, monkeypatch, stderr, progress):
    if stderr == "closed":
        stderr = io.StringIO()
        stderr.close()
    monkeypatch.setattr(sys, "stderr", stderr)
    assert rlbayes.learn(related, evaluations=2000, threads=1, progress=progress).network.edges
