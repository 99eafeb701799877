"""A headless chromium, and what tests ask of it."""

import base64
import json
import time

from selenium import webdriver

SOON = 120

# Returns the short names among some elements that are broken into lines.
BROKEN_NAMES = """
return [...document.querySelectorAll(arguments[0])]
    .filter(e => e.textContent.length <= 8 && e.getClientRects().length > 1).map(e => e.textContent);"""


def wait_for(what, holds, within=SOON):
    end = time.time() + within
    while True:
        found = holds()
        if found:
            return found
        assert time.time() < end, f"after {within} s still not: {what}"
        time.sleep(0.2)


def browser(width, dark, downloads):
    options = webdriver.ChromeOptions()
    for flag in ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]:
        options.add_argument(flag)
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads)})
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService("/usr/bin/chromedriver"))
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                           {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
        {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})
    return driver


def errors(driver):
    return [entry["message"] for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]


def asked(driver):
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]


def shoot(driver, shots, name):
    """Takes a picture of the whole page, where a folder for pictures is given."""
    if shots:
        shots.mkdir(parents=True, exist_ok=True)
        height = driver.execute_script("return document.documentElement.scrollHeight")
        shot = driver.execute_cdp_cmd("Page.captureScreenshot", {
            "captureBeyondViewport": True,
            "clip": {"x": 0, "y": 0, "scale": 1, "height": height,
                     "width": driver.execute_script("return document.documentElement.clientWidth")}})
        (shots / f"{name}.png").write_bytes(base64.b64decode(shot["data"]))


def text(driver, selector):
    # By script: elements are replaced while they are looked at.
    return driver.execute_script("const e = document.querySelector(arguments[0]); return e ? e.textContent : ''", selector)
