"""Opens pages in Chromium as a person would and tells what it saw, as JSON on stdout.

Arguments: the browser, a folder for screenshots, then NAME=URL=TEXT for each
page: TEXT must show up before the picture is taken. A page is also told what
links and bars it has, what its console said, and what of it could not be had.
"""

import json
import sys

from playwright.sync_api import Error, sync_playwright

DEADLINE_MS = 60_000


def visit(context, url, text, picture):
    """One page."""
    seen = {"console": [], "failed": [], "answers": []}
    page = context.new_page()
    page.on("console", lambda message: message.type in ("error", "warning") and seen["console"].append(message.text))
    page.on("pageerror", lambda error: seen["console"].append(str(error)))
    page.on("requestfailed", lambda request: seen["failed"].append(f"{request.url}: {request.failure}"))
    page.on("response", lambda answer: seen["answers"].append([answer.status, answer.url]))
    try:
        page.goto(url, wait_until="load", timeout=DEADLINE_MS)
        page.get_by_text(text).first.wait_for(timeout=DEADLINE_MS)
        page.wait_for_load_state("networkidle", timeout=DEADLINE_MS)
    except Error as error:
        seen["console"].append(f"not opened: {error}")
    page.screenshot(path=picture, full_page=True)
    seen |= {"url": page.url, "title": page.title(), "text": page.inner_text("body"),
             "links": page.eval_on_selector_all("a[href]", "all => all.map(a => a.href)"),
             "bars": page.eval_on_selector_all(
                 "progress, meter, [role=progressbar], [class*=bar]", "all => all.length"),
             "wider": page.evaluate("document.documentElement.scrollWidth - window.innerWidth")}
    page.close()
    return seen


def main():
    """See above."""
    program, folder, *pages = sys.argv[1:]
    with sync_playwright() as playwright:
        # Chromium's own sandbox needs an account that is not root.
        browser = playwright.chromium.launch(executable_path=program, headless=True, args=["--no-sandbox"])
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        told = {}
        for page in pages:
            name, url, text = page.split("=", 2)
            told[name] = visit(context, url, text, f"{folder}/{name}.png")
        told["version"] = browser.version
        browser.close()
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main()
