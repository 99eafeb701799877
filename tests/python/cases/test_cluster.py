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
    required = tmp_path / "required.csv"
    required.write_text("from,to\nCVP,LVEDVOLUME\n")
    log = tmp_path / "log"
    place = ["--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--state", str(tmp_path / "state")]
    secret = ["--token-file", str(token)]
    processes = []

    def start(*arguments):
        with log.open("a") as out:
            processes.append(subprocess.Popen([PROGRAM, *arguments, *secret], stdout=out, stderr=out))

    try:
        start(
            "coordinator",
            "--data",
            str(ALARM),
            "--time",
            "600s",
            "--prove",
            "off",
            "--required",
            str(required),
            *place,
        )
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
        result = cluster.result()
        assert result.network.is_fitted and result.not_fitted is None
        directed, undirected = result.network.cpdag()
        assert ("CVP", "LVEDVOLUME") in directed
        told = result.about["cpdag"]
        assert sorted(directed) == sorted(map(tuple, told["directed"]))
        assert {frozenset(edge) for edge in undirected} == {frozenset(edge) for edge in told["undirected"]}
    finally:
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            process.wait(60)


def test_a_coordinator_that_dies_is_out_of_reach(tmp_path):
    log = tmp_path / "log"
    place = ["--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--state", str(tmp_path / "state")]
    with log.open("w") as out:
        process = subprocess.Popen([PROGRAM, "coordinator", "--data", str(ALARM), *place], stdout=out, stderr=out)
    try:
        deadline = time.monotonic() + 120
        while not (found := re.search(r"rows\) on (http://\S+)", log.read_text())):
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        watched = rlbayes.connect(found[1]).watch()
        assert next(watched)["best_score"] is None
        process.kill()
        with pytest.raises(rlbayes.UnreachableError):
            list(watched)
    finally:
        process.kill()
        process.wait(60)


def test_a_certificate_needs_its_key(tmp_path):
    (tmp_path / "file").write_text("")
    for given, absent in (("cert", "key"), ("key", "cert")):
        with pytest.raises(rlbayes.InputError, match=f"{given}= needs {absent}="):
            rlbayes.connect("https://127.0.0.1:9", **{given: tmp_path / "file"})


def test_a_coordinator_that_is_not_there():
    with pytest.raises(rlbayes.UnreachableError):
        rlbayes.connect("http://127.0.0.1:9").status()
    with pytest.raises(ConnectionError):
        rlbayes.connect("http://127.0.0.1:9").result()
    with pytest.raises(rlbayes.InputError):
        rlbayes.connect("no address").status()
