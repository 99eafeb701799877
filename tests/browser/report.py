"""Reports of `learn -o report.html`, clicked through in a headless chromium.

    report.py PROGRAM ROOT [SCREENSHOTS]

PROGRAM is rlbayes, ROOT the repository. With SCREENSHOTS, pictures of the pages go into that folder.
"""

import pathlib
import subprocess
import sys
import tempfile

from chromium import BROKEN_NAMES, asked, browser, errors, shoot, text, wait_for
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from survey import QUESTIONS, write_survey

program, root = sys.argv[1], pathlib.Path(sys.argv[2])
shots = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None

def learn(table, page, *flags):
    subprocess.run([program, "learn", table, "--evaluations", "3000000", "--threads", "1", "--quiet", "-o", page, *flags],
                   check=True)


def check(driver, page, node, edges_at_least):
    """Opens a page and uses it as a person would."""
    driver.get(page.as_uri())
    wait_for("the network is drawn", lambda: driver.find_elements(By.CSS_SELECTOR, ".rv-node"))
    assert len(driver.find_elements(By.CSS_SELECTOR, "#edge-rows tr")) >= edges_at_least

    # A node is found by its name and chosen by the keyboard.
    search = driver.find_element(By.CSS_SELECTOR, "#network input[role=combobox]")
    search.send_keys(node)
    wait_for("suggestions", lambda: driver.find_elements(By.CSS_SELECTOR, ".rv-list [role=option]"))
    search.send_keys(Keys.ARROW_DOWN, Keys.ENTER)
    wait_for("a node is chosen", lambda: driver.find_elements(By.CSS_SELECTOR, ".rv-node.rv-middle"))
    chosen = driver.find_element(By.CSS_SELECTOR, ".rv-node.rv-middle").get_attribute("aria-label")
    assert node in chosen, (node, chosen)
    assert driver.find_elements(By.CSS_SELECTOR, ".rv-block"), "its table is shown"

    # Another one is chosen by a click; what is lit is its Markov blanket.
    other = driver.find_elements(By.CSS_SELECTOR, ".rv-node.rv-lit")
    assert other, "its neighbours are lit"
    name = other[0].get_attribute("aria-label")
    # In a large network it may be out of sight: then its name in the panel is clicked.
    if edges_at_least < 100:
        ActionChains(driver).move_to_element(other[0]).click().perform()
    else:
        panel = driver.find_elements(By.CSS_SELECTOR, ".rv-details button")
        next(button for button in panel if name.startswith(button.text + ",")).click()
    wait_for("the clicked node is chosen", lambda: driver.find_element(
        By.CSS_SELECTOR, ".rv-node.rv-middle").get_attribute("aria-label") == name)

    # What may point either way is not shown as a fact.
    free = driver.execute_script("return JSON.parse(document.getElementById('network-data').textContent).edges.find(e => !e.directed)")
    if free:
        nodes = driver.find_elements(By.CSS_SELECTOR, ".rv-node")
        driver.execute_script("arguments[0].dispatchEvent(new MouseEvent('click', { bubbles: true }))", nodes[free["from"]])
        assert "— either way" in text(driver, ".rv-details"), text(driver, ".rv-details")
    # Lines are as wide as their support.
    widths = driver.execute_script("""
        const edges = JSON.parse(document.getElementById('network-data').textContent).edges;
        return [...document.querySelectorAll('.rv-edge:not(.rv-lit)')].map(e => parseFloat(getComputedStyle(e).strokeWidth))
            .concat(edges.some(e => e.support !== undefined) ? [] : [1.4]);""")
    if "Support" in text(driver, "#edges thead"):
        assert len(set(widths)) > 1, widths
    else:
        assert set(widths) == {1.4}, set(widths)

    # Zoom and drag move the picture.
    picture = driver.find_element(By.CSS_SELECTOR, ".rv-picture")
    before = picture.get_dom_attribute("viewBox")
    driver.find_element(By.CSS_SELECTOR, ".rv-buttons button").click()
    assert picture.get_dom_attribute("viewBox") != before, "zoomed"
    before = picture.get_dom_attribute("viewBox")
    ActionChains(driver).move_to_element_with_offset(picture, 5, 5).click_and_hold().move_by_offset(40, 30).release().perform()
    assert picture.get_dom_attribute("viewBox") != before, "dragged"

    # Edges are sorted and filtered.
    heading = driver.find_element(By.CSS_SELECTOR, "#edges th button")
    heading.click()
    assert driver.find_element(By.CSS_SELECTOR, "#edges th").get_attribute("aria-sort") == "ascending"
    names = [cell.text for cell in driver.find_elements(By.CSS_SELECTOR, "#edge-rows td:first-child")]
    assert names == sorted(names) and names, names[:3]
    driver.find_element(By.ID, "edge-filter").send_keys("no such name")
    assert not driver.find_elements(By.CSS_SELECTOR, "#edge-rows tr")
    driver.find_element(By.ID, "edge-filter").send_keys(Keys.CONTROL, "a")
    driver.find_element(By.ID, "edge-filter").send_keys(Keys.DELETE)
    assert len(driver.find_elements(By.CSS_SELECTOR, "#edge-rows tr")) == len(names), "all edges are back"
    broken = driver.execute_script(BROKEN_NAMES, "#edge-rows .name")
    assert not broken, broken
    assert "rlbayes learn" in text(driver, "pre"), "the command that repeats it"

    away = [url for url in asked(driver) if not url.startswith(("file:", "data:"))]
    assert not away, away
    assert not errors(driver), errors(driver)
    wide = driver.execute_script("return document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert wide <= 0, f"the page is {wide} pixels wider than the screen"


def main():
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        write_survey(folder / "survey.csv")
        pages = {
            "alarm": (root / "data/alarm.csv", "HREKG", 30, ["--replicates", "20"]),
            "andes": (root / "data/andes_n1000_s1.csv.gz", "RApp3", 100, []),
            "survey": (folder / "survey.csv", QUESTIONS[2], 3, []),
        }
        for name, (table, node, edges, flags) in pages.items():
            page = folder / f"{name}.html"
            learn(table, page, *flags)
            print(f"{name}: {page.stat().st_size} bytes", flush=True)
            for width, dark in [(1280, False), (390, True)]:
                driver = browser(width, dark, folder)
                try:
                    check(driver, page, node, edges)
                    shoot(driver, shots, f"report-{name}-{width}-{'dark' if dark else 'light'}")
                finally:
                    driver.quit()
    print("reports: all good")


main()
