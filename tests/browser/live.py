"""The live page of a running cluster, clicked through in a headless chromium.

    live.py PROGRAM ROOT [SCREENSHOTS]

PROGRAM is rlbayes, ROOT the repository. With SCREENSHOTS, pictures of the page go into that folder.
"""

import pathlib
import signal
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

from chromium import BROKEN_NAMES, asked, browser, errors, shoot, text, wait_for
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

program, root = sys.argv[1], pathlib.Path(sys.argv[2])
shots = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None


class Cluster:
    def __init__(self, folder, port, flags=()):
        self.folder, self.port, self.flags = folder, port, list(flags)
        self.url, self.web = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{port + 1}"
        self.processes = []
        self.start()

    def start(self):
        self.coordinator = subprocess.Popen(
            [program, "coordinator", "--data", root / "data/win95pts_n1000_s1.csv.gz", "--state", f"{self.folder}/state",
             "--listen", f"127.0.0.1:{self.port}", "--http", f"127.0.0.1:{self.port + 1}", "--time", "1h",
             "--exchange-every", "200ms", "--lease", "5s", *self.flags], stderr=subprocess.DEVNULL)

    def worker(self, name, flags=()):
        self.processes.append(subprocess.Popen(
            [program, "worker", "--coordinator", self.url, "--threads", "1", "--memory", "128MiB", "--name", name,
             "--state", f"{self.folder}/{name}", *flags], stderr=subprocess.DEVNULL))

    def end(self):
        for process in [*self.processes, self.coordinator]:
            process.send_signal(signal.SIGKILL)
            process.wait()


def points(driver):
    return int(driver.execute_script("const e = document.querySelector('#curve svg'); return e ? e.dataset.points : 0"))


def nodes(driver):
    return driver.execute_script("return document.querySelectorAll('#network .rv-node').length")


def chosen(driver):
    return driver.execute_script(
        "const e = document.querySelector('#network .rv-middle'); return e ? e.getAttribute('aria-label') : ''")


def look_at_the_network(driver):
    """Finds a node by its name, and goes on by keys alone."""
    wait_for("the picture", lambda: nodes(driver) == 76)
    search = driver.find_element(By.CSS_SELECTOR, "#network input[role=combobox]")
    search.send_keys("Problem1")
    wait_for("suggestions", lambda: driver.execute_script("return document.querySelector('.rv-list [role=option]') !== null"))
    search.send_keys(Keys.ENTER)
    wait_for("the node is chosen", lambda: chosen(driver).startswith("Problem1,"))
    wait_for("its table is shown", lambda: driver.execute_script("return document.querySelector('.rv-block') !== null"))
    box = lambda: driver.execute_script("return document.querySelector('.rv-picture').getAttribute('viewBox')")
    before = box()
    picture = driver.find_element(By.CSS_SELECTOR, ".rv-picture")
    picture.send_keys("+")
    assert box() != before, "zoomed"
    # Arrows go to another node; the network may be renewed meanwhile, which keeps the place.
    focused = lambda: driver.execute_script("return document.activeElement.getAttribute('data-node')")
    driver.execute_script("document.querySelector('.rv-node[tabindex=\"0\"]').focus()")
    first = focused()
    assert first is not None
    for key in [Keys.ARROW_DOWN, Keys.ARROW_UP, Keys.ARROW_RIGHT, Keys.ARROW_LEFT]:
        driver.switch_to.active_element.send_keys(key)
    driver.switch_to.active_element.send_keys(Keys.ENTER)
    wait_for("a node is chosen by keys", lambda: chosen(driver) != "")
    driver.switch_to.active_element.send_keys(Keys.ESCAPE)
    wait_for("nothing is chosen", lambda: chosen(driver) == "")
    picture.send_keys("0")


def without_token(folder):
    cluster = Cluster(folder, 23400)
    try:
        downloads = pathlib.Path(folder) / "downloads"
        downloads.mkdir()
        wait_for("the page is served", lambda: served(cluster.web))
        driver = browser(1280, False, downloads)
        try:
            driver.get(cluster.web)
            wait_for("nobody is there", lambda: text(driver, "#workers caption") == "Nobody takes part yet.")
            # Only now: on a busy machine the search could be at its best before the page is open.
            cluster.worker("worker-b")
            wait_for("a curve", lambda: points(driver) >= 1)
            wait_for("the curve grows", lambda: points(driver) >= 2)
            cluster.worker("worker-a")
            wait_for("two workers", lambda: text(driver, "#workers caption").startswith("2 "))
            hosts = lambda: driver.execute_script(
                "return [...document.querySelectorAll('#workers tbody tr')].map(r => r.cells[1].textContent)")
            assert hosts() == ["worker-b", "worker-a"], hosts()
            driver.find_element(By.XPATH, "//table[@id='workers']//button[text()='host']").click()
            wait_for("they are sorted", lambda: hosts() == ["worker-a", "worker-b"])
            wait_for("the network", lambda: text(driver, "#edges caption").split(" ")[0].isdigit()
                     and int(text(driver, "#edges caption").split(" ")[0]) > 40)
            look_at_the_network(driver)
            driver.find_element(By.ID, "find").send_keys("problem1")
            wait_for("the edges are filtered", lambda: "edges touch" in text(driver, "#edges caption"))
            driver.find_element(By.ID, "find").send_keys(Keys.CONTROL, "a")
            driver.find_element(By.ID, "find").send_keys(Keys.DELETE)
            for kind in ["bif", "svg", "png", "pdf", "json", "xml", "dot", "graphml", "csv", "txt"]:
                driver.find_element(By.XPATH, f"//p[@id='downloads']/a[text()='{kind}']").click()
                file = downloads / f"win95pts_n1000_s1.{kind}"
                wait_for(f"{file.name} is there", file.exists)
            subprocess.run([program, "convert", downloads / "win95pts_n1000_s1.bif", f"{folder}/x.txt"], check=True)
            assert errors(driver) == [], errors(driver)
            wide = driver.execute_script("return document.documentElement.scrollWidth")
            assert wide <= 1280, wide
            shoot(driver, shots, "light-1280")

            before = points(driver)
            cluster.coordinator.send_signal(signal.SIGKILL)
            cluster.coordinator.wait()
            wait_for("it says so", lambda: "is away for" in text(driver, "#away"))
            assert text(driver, "#state") == "away", text(driver, "#state")
            shoot(driver, shots, "away-1280")
            driver.find_element(By.XPATH, "//p[@id='downloads']/a[text()='txt']").click()
            wait_for("a download is refused", lambda: "does not answer" in text(driver, "#away"))
            cluster.start()
            wait_for("it is back", lambda: "was restarted" in text(driver, "#away"))
            assert points(driver) >= before, "the curve is kept"
            wait_for("the workers are back", lambda: text(driver, "#workers caption").startswith("2 "))
            # While it is away, requests fail, and the browser says so; nothing else is wrong.
            others = [e for e in errors(driver) if "net::ERR_" not in e]
            assert others == [], others
            urls = asked(driver)
            assert urls and all(url.startswith((cluster.web, "blob:")) for url in urls), urls
        finally:
            driver.quit()
        for width, dark in [(1280, True), (390, False), (390, True)]:
            driver = browser(width, dark, downloads)
            try:
                driver.get(cluster.web)
                wait_for("the picture", lambda: nodes(driver) == 76)
                wide = driver.execute_script("return document.documentElement.scrollWidth")
                assert wide <= width, (wide, width)
                wait_for("the edges", lambda: "edges" in text(driver, "#edges caption"))
                hidden = driver.execute_script(
                    "const e = document.getElementById('edges').parentNode; return e.scrollWidth - e.clientWidth")
                assert hidden <= 0, f"{hidden} pixels of the edges are out of sight"
                broken = driver.execute_script(BROKEN_NAMES, "#edges td button")
                assert not broken, broken
                shoot(driver, shots, f"{'dark' if dark else 'light'}-{width}")
                assert errors(driver) == [], errors(driver)
            finally:
                driver.quit()
    finally:
        cluster.end()


def served(web):
    try:
        with urllib.request.urlopen(f"{web}/health", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def with_token(folder):
    token = pathlib.Path(folder) / "token"
    token.write_text("a-secret-of-this-test\n")
    token.chmod(0o600)
    cluster = Cluster(folder, 23500, ["--token-file", token, "--http-token"])
    try:
        cluster.worker("worker", ["--token-file", token])
        wait_for("the page is served", lambda: served(cluster.web))
        for path in ["status", "metrics", "events", "network.json", "result.json", "result.bif"]:
            try:
                urllib.request.urlopen(f"{cluster.web}/{path}", timeout=10)
                raise AssertionError(f"{path} is served without the token")
            except urllib.error.HTTPError as error:
                assert error.code == 401, (path, error.code)
        with urllib.request.urlopen(cluster.web, timeout=10) as answer:
            assert "win95pts" not in answer.read().decode()
            policy = answer.headers["Content-Security-Policy"]
            assert policy.startswith("default-src 'none'") and "unsafe" not in policy, policy
        driver = browser(1280, False, folder)
        try:
            driver.get(cluster.web)
            wait_for("it asks", lambda: driver.find_element(By.ID, "ask").is_displayed())
            assert errors(driver) == [], errors(driver)
            driver.find_element(By.ID, "token").send_keys("wrong", Keys.ENTER)
            wait_for("it is refused", lambda: "refused" in text(driver, "#refused"))
            errors(driver)
            shoot(driver, shots, "token-1280")
            driver.find_element(By.ID, "token").send_keys("a-secret-of-this-test", Keys.ENTER)
            wait_for("the curve", lambda: points(driver) >= 1)
            driver.refresh()
            wait_for("it is not asked again", lambda: points(driver) >= 1)
            assert all("secret" not in url for url in asked(driver))
            assert errors(driver) == [], errors(driver)
        finally:
            driver.quit()
    finally:
        cluster.end()


for story in [without_token, with_token]:
    with tempfile.TemporaryDirectory() as folder:
        story(folder)
        print(f"ok {story.__name__}", flush=True)
