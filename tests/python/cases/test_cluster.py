"""A cluster of one worker on this machine, asked from Python."""

import re
import subprocess
import time

import pytest
from conftest import ALARM, PROGRAM

import rlbayes


def test_status_watch_result_and_stop(tmp_path):
    token = tmp_path / "token"
    token.write_text("a secret of this test\n")
    log = tmp_path / "log"
    place = ["--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--state", str(tmp_path / "state")]
    secret = ["--token-file", str(token)]
    processes = []

    def start(*arguments):
        with log.open("a") as out:
            processes.append(subprocess.Popen([PROGRAM, *arguments, *secret], stdout=out, stderr=out))

    try:
        start("coordinator", "--data", str(ALARM), "--time", "600s", "--prove", "off", *place)
        deadline = time.monotonic() + 120
        while not (found := re.search(r"rows\) on (http://\S+)", log.read_text())):
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        url = found[1]
        start("worker", "--coordinator", url, "--threads", "1")
        with pytest.raises(rlbayes.Error, match="token"):
            rlbayes.connect(url, token="guessed").status()
        cluster = rlbayes.connect(url, token="a secret of this test")
        stopped = False
        for status in cluster.watch():
            assert time.monotonic() < deadline, log.read_text()
            if status["best_score"] is not None and not stopped:
                result = cluster.result()
                assert len(result.network.edges) > 0 and result.score >= status["best_score"]
                cluster.stop()
                stopped = True
        assert stopped and cluster.status()["stopped_by"] == "stop"
        assert cluster.result().network.is_fitted
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait(60)


def test_a_coordinator_that_is_not_there():
    with pytest.raises(rlbayes.UnreachableError):
        rlbayes.connect("http://127.0.0.1:9").status()
    with pytest.raises(ConnectionError):
        rlbayes.connect("http://127.0.0.1:9").result()
    with pytest.raises(rlbayes.InputError):
        rlbayes.connect("no address").status()
