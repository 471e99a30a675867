// node bench/page_bench.mjs REPORT.html ...: the size of a page, and the time from navigation to its first screen
// (verdict, rows and graph drawn), in Chromium from disk, the median of 5 openings; and of the page's main thread
// the CPU time until then, which other work on the machine does not change.
import { existsSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { chromium } from "../web/node_modules/playwright-core/index.mjs";

const openings = 5;
const browser = await chromium.launch({
  executablePath: ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(existsSync),
  args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

// When all parts of the first screen are in the document and have been painted, in ms since navigation began.
const watch_first_screen = () => {
  const parts = [".verdict", ".plot .curve", ".navigator .line", ".graph .node"];
  window.first_screen = new Promise((done) => {
    const look = () => {
      if (!parts.every((part) => document.querySelector(part))) requestAnimationFrame(look);
      else requestAnimationFrame(() => setTimeout(() => done(performance.now())));
    };
    look();
  });
};

for (const file of process.argv.slice(2)) {
  const times = [], own = [];
  for (let i = 0; i < openings; ++i) {
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    await page.addInitScript(watch_first_screen);
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    await page.goto(`file://${resolve(file)}`);
    times.push(await page.evaluate(() => window.first_screen));
    const { metrics } = await session.send("Performance.getMetrics");
    own.push(1000 * metrics.find(({ name }) => name === "TaskDuration").value);
    await page.close();
  }
  for (const list of [times, own]) list.sort((a, b) => a - b);
  console.log(`${file}: ${(statSync(file).size / 1e6).toFixed(2)} MB, first screen ${times[openings >> 1].toFixed(0)} ms (${times[0].toFixed(0)} to ${times.at(-1).toFixed(0)}), main thread ${own[openings >> 1].toFixed(0)} ms`);
}
await browser.close();
