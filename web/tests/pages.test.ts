// Pages of real results, made by the real program, in a real browser. $VERNIER_BINARY names the program.
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import axe from "axe-core";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const binary = process.env.VERNIER_BINARY ?? "";
const chrome = ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(existsSync) ?? "";
const fixtures = resolve(__dirname, "../../tests/fixtures");
const mnist = (name: string) => join(fixtures, "mnist", name);
const shared = resolve(__dirname, "../../../shared/data");
const torch = resolve(__dirname, "../../.deps/torch2/bin/python"); // has torchvision
const folder = mkdtempSync(join(tmpdir(), "vernier-pages-"));
const file = (name: string) => join(folder, name);

// The page of a command, and the same result as JSON. Commands end with 1 where they find something.
function make(name: string, args: string[]): { page: string; json: any } {
  for (const output of [`${name}.html`, `${name}.json`]) {
    const ran = spawnSync(binary, [...args, "-o", file(output)], { encoding: "utf8" });
    if (ran.status === 2 || ran.status === null) throw new Error(`vernier ${args.join(" ")}: ${ran.stderr}`);
  }
  return { page: file(`${name}.html`), json: JSON.parse(readFileSync(file(`${name}.json`), "utf8")) };
}
const debug_args = ["debug", mnist("mnist_cnn.int8.onnx"), "--reference", mnist("mnist_cnn.onnx"), "--input-data", mnist("mnist_inputs.npz"), "--samples", "8"];

let browser: Browser;
const troubles: string[] = [];

async function open(path: string, fragment = "", scheme: "light" | "dark" = "light"): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, colorScheme: scheme });
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && troubles.push(message.text()));
  page.on("pageerror", (error) => troubles.push(error.message));
  page.on("request", (request) => !/^(file|data):/.test(request.url()) && troubles.push(`request ${request.url()}`));
  await page.goto(`file://${path}${fragment ? `#${fragment}` : ""}`);
  await page.waitForSelector(".verdict");
  return page;
}

async function violations(page: Page): Promise<string[]> {
  // The page's policy lets no other script in: the checker comes through the debugger.
  await page.evaluate(axe.source);
  const found = await page.evaluate(async () => (await (window as any).axe.run(document, { resultTypes: ["violations"] })).violations);
  return found.map((each: any) => `${each.id}: ${each.nodes.slice(0, 3).map((node: any) => node.target.join(" ")).join(", ")}`);
}

if (!chrome) console.log("skipped: there is no Chromium");
describe.skipIf(!binary || !chrome)("pages", { timeout: 600_000 }, () => {
  beforeAll(async () => {
    browser = await chromium.launch({
      executablePath: chrome,
      args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
    });
  }, 120_000);
  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true, force: true });
    expect(troubles).toEqual([]);
  });

  it("of debug show what the JSON says, everywhere the same", async () => {
    const { page: path, json } = make("debug", debug_args);
    const page = await open(path);
    expect(json.verdict.outcome).toBe("pass");
    expect(await page.textContent(".badge")).toContain("PASS");
    expect(await page.textContent(".told")).toContain(json.conclusion);
    expect(await page.textContent(".navigator .count")).toBe(`${json.activations.length + json.weights.length + json.model_outputs.length} rows`);
    const worst = [...json.activations].sort((a, b) => a.cumulative_sqnr_db - b.cumulative_sqnr_db)[0];
    // Nothing is damaged: it begins at the worst, and rows are on the first screen.
    expect(await page.textContent(".inspector h2")).toBe(worst.tensor_name);
    expect((await page.locator(".panes").boundingBox())!.y).toBeLessThan(540);
    await page.keyboard.press("Escape");
    await page.keyboard.press("w");
    expect(await page.textContent(".inspector h2")).toBe(worst.tensor_name);
    const signals = await page.textContent(".signals");
    for (const value of [worst.cumulative_sqnr_db, worst.local_sqnr_db]) expect(signals).toContain(value.toFixed(2));
    expect(await page.textContent(".line.selected .figure")).toBe(worst.cumulative_sqnr_db.toFixed(2));
    await page.waitForSelector(".node.selected");
    expect(await page.getAttribute(".line.selected", "aria-label")).toContain(worst.cumulative_sqnr_db.toFixed(2));
    expect(page.url()).toContain(`at=${encodeURIComponent(`t:${worst.tensor_name}`).replaceAll("%20", "+")}`);
    // A short fact takes one line.
    for (const fact of await page.locator(".inspector .facts.rows > div").all())
      if ((await fact.textContent())!.length < 24) expect((await fact.boundingBox())!.height).toBeLessThan(26);
    // What was recorded: histograms of both sides over the same elements, channels, pictures.
    const [reference, candidate] = await page.evaluate((id) => {
      const detail = JSON.parse(document.getElementById("data")!.textContent!).results[0].detail.tensors[id];
      const sum = (text: string) => new Uint32Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer).reduce((a, b) => a + b, 0);
      return [sum(detail.reference), sum(detail.candidate), detail.shape];
    }, `t:${worst.tensor_name}`);
    expect(reference).toBe(candidate);
    expect(await page.locator(".histogram svg").count()).toBe(1);
    expect(await page.locator(".pictures canvas").count()).toBe(3);
    // The minimap is painted: more than one colour, of which none stands for nothing.
    await page.click('.graph button[aria-label="Zoom in"]');
    await page.click('.graph button[aria-label="Zoom in"]');
    await page.waitForSelector(".minimap canvas");
    const colours = () => page.locator(".minimap canvas").evaluate((canvas) => {
      const { width, height } = canvas as HTMLCanvasElement;
      const pixels = new Uint32Array((canvas as HTMLCanvasElement).getContext("2d")!.getImageData(0, 0, width, height).data.buffer);
      return new Set(pixels.filter((pixel) => pixel !== 0)).size;
    });
    await expect.poll(colours).toBeGreaterThan(1);
    await page.click('.profile button:has-text("local SQNR")');
    expect(await page.textContent(".column-title")).toContain("local SQNR");
    await page.close();
  });

  it("keep the results the same bytes, and none records nothing", () => {
    const plain = execFileSync(binary, [...debug_args, "-f", "json"], { encoding: "utf8" });
    for (const detail of ["all", "none"]) {
      spawnSync(binary, [...debug_args, "--detail", detail, "-o", file("d.html")]);
      const data = JSON.parse(/<script id="data"[^>]*>(.*?)<\/script>/s.exec(readFileSync(file("d.html"), "utf8"))![1]!);
      expect(data.results[0].result).toEqual(JSON.parse(plain));
      expect(Object.keys(data.results[0].detail.tensors).length).toBe(detail === "all" ? JSON.parse(plain).activations.filter((row: any) => row.cumulative_sqnr_db !== null).length + 1 : 0);
    }
  });

  it("are walked by keyboard alone", async () => {
    const page = await open(file("debug.html"));
    await page.keyboard.press("/");
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("filter");
    await page.keyboard.type("Relu");
    const rows = await page.textContent(".navigator .count");
    expect(rows).toMatch(/^\d+ of \d+ rows$/);
    await page.focus(".lines");
    await page.keyboard.press("ArrowDown");
    const first = await page.textContent(".inspector h2");
    await page.keyboard.press("End");
    expect(await page.textContent(".inspector h2")).not.toBe(first);
    await page.focus(".plot");
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("+");
    await expect.poll(() => page.url()).toContain("zoom=");
    await page.keyboard.press("0");
    await expect.poll(() => page.url()).not.toContain("zoom=");
    await page.focus(".canvas");
    const before = await page.textContent(".inspector h2");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("f");
    expect(await page.textContent(".inspector h2")).not.toBe(before);
    await page.keyboard.press("Escape");
    expect(await page.textContent(".inspector h2")).toBe("Inspector");
    await page.close();
  });

  it("are clicked through: profile, brush, tree, graph, search, link", async () => {
    const page = await open(file("debug.html"));
    await page.emulateMedia({ reducedMotion: "reduce" }); // the click scrolls the page, at once
    await page.setViewportSize({ width: 1440, height: 600 });
    let plot = (await page.locator(".plot").boundingBox())!;
    await page.mouse.click(plot.x + plot.width / 2, plot.y + 60);
    expect(await page.locator(".line.selected").count()).toBe(1);
    expect((await page.locator(".panes").boundingBox())!.y).toBeLessThan(250);
    await page.setViewportSize({ width: 1440, height: 900 });
    plot = (await page.locator(".plot").boundingBox())!;
    await page.mouse.move(plot.x + 300, plot.y + 80);
    await page.mouse.down();
    await page.mouse.move(plot.x + 800, plot.y + 80, { steps: 4 });
    await page.mouse.up();
    await expect.poll(() => page.url()).toContain("zoom=");
    await page.fill('[aria-label="Search nodes of the graph"]', "Gemm");
    await page.waitForSelector(".node.selected");
    expect(await page.textContent(".graph .count")).toMatch(/^1 of \d+ match/);
    await page.click('button:has-text("close all")');
    await page.click('button:has-text("open all")');
    await page.click('button:has-text("fit")');
    expect(await page.locator(".node text").first().evaluate((text) => text.getBoundingClientRect().height)).toBeGreaterThan(10);
    await page.click('.navigator button:has-text("worst")');
    const selected = await page.textContent(".inspector h2");
    const again = await open(file("debug.html"), page.url().split("#")[1]);
    expect(await again.textContent(".inspector h2")).toBe(selected);
    await again.close();
    await page.close();
  });

  it("are accessible in both themes", async () => {
    for (const scheme of ["light", "dark"] as const) {
      const page = await open(file("debug.html"), "at=o:logits", scheme);
      expect(await violations(page)).toEqual([]);
      await page.close();
    }
  });

  it("of check lead from a finding to its node", async () => {
    const { page: path, json } = make("check", ["check", join(fixtures, "bad/unknown_op.onnx")]);
    const page = await open(path);
    expect(await page.textContent(".badge")).toContain("FAIL");
    expect(await page.textContent(".told")).toContain(json.findings.find((each: any) => each.severity === "error").evidence);
    expect(await page.textContent(".line.selected .message")).toBe(json.findings[0].evidence);
    const text = await page.textContent(".inspector");
    expect(text).toContain(json.findings[0].evidence);
    expect(text).toContain(json.findings[0].remedy);
    expect(await violations(page)).toEqual([]);
    await page.close();
  });

  it("of a diagnosis show the questions, the cause and the command, above the rows of debug", async () => {
    const { page: path, json } = make("diagnose", ["diagnose", mnist("mnist_cnn.int8_unscaled.onnx"), mnist("mnist_cnn.onnx"), "--data", mnist("mnist_inputs.npz")]);
    const page = await open(path);
    expect(await page.textContent(".badge")).toContain("FAIL");
    expect(await page.locator(".answers li").allTextContents()).toHaveLength(json.answers.length);
    expect(await page.textContent(".answers li.bad")).toContain(json.answers.find((each: any) => each.answer === "bad").text);
    expect(await page.textContent(".told")).toContain(json.cause.text);
    expect(await page.textContent(".told pre")).toContain(json.remedies[0].command);
    await page.keyboard.press("w");
    expect(json.debug.activations.map((row: any) => row.tensor_name)).toContain(await page.textContent(".inspector h2"));
    expect(await page.locator(".histogram svg").count()).toBe(1);
    expect(await violations(page)).toEqual([]);
    await page.close();
  });

  it("of several saved results show each, and two of a kind side by side", async () => {
    spawnSync(binary, [...debug_args.slice(0, 1), mnist("mnist_cnn.int8_per_channel.onnx"), ...debug_args.slice(2), "-o", file("other.json")]);
    execFileSync(binary, ["report", file("debug.json"), file("check.json"), file("other.json"), "-o", file("report.html")]);
    const page = await open(file("report.html"));
    expect(await page.locator(".results button").count()).toBe(3);
    expect(await page.textContent(".compare h2")).toBe("Before and after");
    await page.click(".results button >> nth=1");
    expect(await page.textContent(".badge")).toContain("FAIL");
    expect(await page.locator(".compare").count()).toBe(0);
    await page.close();
    // A saved diagnosis says its cause and its command as well.
    execFileSync(binary, ["report", file("diagnose.json"), "-o", file("saved.html")]);
    const saved = await open(file("saved.html"));
    const diagnosis = JSON.parse(readFileSync(file("diagnose.json"), "utf8"));
    expect(await saved.textContent(".told")).toContain(diagnosis.cause.text);
    expect(await saved.textContent(".told pre")).toBe(diagnosis.remedies[0].command);
    await saved.click(".told .copy");
    await saved.waitForSelector('.told .copy:has-text("copied")');
    await saved.close();
    execFileSync(binary, ["report", file("check.json"), file("check.json"), "-o", file("twice.html")]);
    const twice = await open(file("twice.html"));
    expect(await twice.textContent(".compare .count")).toContain("0 worse, 0 better");
    await twice.close();
  });

  it("of layers begin at the fault, and say how it is known", async () => {
    // One Sqrt of the network became another operator, as long a word.
    const model = readFileSync(mnist("mnist_vit.onnx"));
    const at = model.indexOf(Buffer.from("\x22\x04Sqrt", "latin1"));
    expect(at).toBeGreaterThan(0);
    model.write("Ceil", at + 2, "latin1");
    writeFileSync(file("fault.onnx"), model);
    const { page: path, json } = make("layers", ["layers", file("fault.onnx"), "--reference", mnist("mnist_vit.onnx"), "--input-data", mnist("mnist_inputs.npz"), "--samples", "2"]);
    const page = await open(path);
    expect(json.drift_origin).toBeTruthy();
    expect(await page.textContent(".badge")).toContain("FAIL");
    expect(await page.locator(".origin text").count()).toBe(1);
    expect(await page.textContent(".inspector h2")).toBe(json.drift_origin);
    await page.keyboard.press("k");
    expect(await page.textContent(".inspector h2")).not.toBe(json.drift_origin);
    await page.keyboard.press("o");
    expect(await page.textContent(".inspector h2")).toBe(json.drift_origin);
    const row = json.layers.find((each: any) => each.layer === json.drift_origin);
    expect(await page.textContent(".cause")).toContain(row.cause.replaceAll("_", " "));
    expect(await page.locator(".histogram svg").count()).toBe(1);
    await page.waitForSelector(".node.selected");
    expect(await violations(page)).toEqual([]);
    await page.close();
  });

  // Two networks of real size, each with one fault.
  it.skipIf(!existsSync(torch))("of resnet18 and of as many nodes as ViT-B/16 begin at the fault, and are small", async () => {
    execFileSync(torch, [join(__dirname, "make_models.py"), folder], { stdio: "ignore" });
    const faults = { resnet18: ["relu_1/Relu", "missing or extra op", "Sigmoid"], vit: ["encoder_layer_6/ln_1", "attribute mismatch", "epsilon"] };
    for (const [name, [place, cause, evidence]] of Object.entries(faults)) {
      const { page: path, json } = make(name, ["layers", file(`${name}.fault.onnx`), "--reference", file(`${name}.onnx`), "--samples", "2"]);
      expect(json.drift_origin).toContain(place);
      expect(readFileSync(path).length).toBeLessThan(name === "vit" ? 5_000_000 : 1_500_000);
      const page = await open(path);
      await page.waitForSelector(".navigator .line");
      await page.waitForSelector(".graph .node");
      expect(await page.textContent(".badge")).toContain("FAIL");
      expect(await page.textContent(".navigator .count")).toBe(`${json.layers.length + (json.outputs?.length ?? 0)} rows`);
      await page.keyboard.press("o");
      expect(await page.textContent(".inspector h2")).toBe(json.drift_origin);
      expect(await page.textContent(".cause")).toContain(cause);
      expect(await page.textContent(".inspector")).toContain(evidence);
      await page.waitForSelector(".node.selected");
      await page.click('button:has-text("open all")');
      await page.waitForSelector(".node.selected");
      expect(await violations(page)).toEqual([]);
      await page.close();
    }
    expect(JSON.parse(readFileSync(file("vit.json"), "utf8")).layers.length).toBeGreaterThan(700);
  });

  it("of a task show its intervals, which answers became which, and the examples", async () => {
    const { page: path, json } = make("flips", ["eval", "-m", mnist("mnist_cnn.int8_unscaled.onnx"), "--reference", mnist("mnist_cnn.onnx"), "--task", "image-classification", "--dataset", mnist("mnist_labelled.npz"), "--samples", "100", "--exact"]);
    const page = await open(path);
    const flips = json.flipped_samples;
    expect(flips.length).toBe(json.agreement.flipped);
    expect(flips.length).toBeGreaterThan(24);
    expect(await page.locator(".metric svg").count()).toBe(json.metrics.length);
    expect(await page.textContent(".confusion .sub")).toContain(`${flips.length} flipped: ${json.agreement.flipped_to_wrong} from right to wrong`);
    const cells = (await page.locator(".matrix td").allTextContents()).map(Number);
    expect(cells.reduce((a, b) => a + b, 0)).toBe(flips.length);
    expect(await page.locator(".thumbnails img").count()).toBe(24);
    const width = await page.locator(".thumbnails img").first().evaluate((image) => (image as HTMLImageElement).naturalWidth);
    expect(width).toBe(28);
    await page.click(".examples button");
    expect(await page.locator(".thumbnails li").count()).toBe(flips.length);
    const first = flips.find((each: any) => each.reference === each.label);
    expect(await page.locator(".thumbnails li", { hasText: `sample ${first.sample}` }).first().textContent()).toContain(`candidate ${first.candidate}`);
    expect(await violations(page)).toEqual([]);
    await page.close();
  });

  it("of sweep and tune show cost against quality", async () => {
    const data = ["--fast", "--data", mnist("mnist_inputs.npz"), "--samples", "16"];
    for (const [name, args] of [["sweep", ["sweep", mnist("mnist_cnn.onnx"), "--precisions", "fp16,w8,w8a8", "--runs", "1", "-o", file("sweep"), ...data]], ["tune", ["tune", mnist("mnist_cnn.onnx"), "--target", "sqnr_db>40", "-o", file("tuned.onnx"), ...data]]] as const) {
      const ran = spawnSync(binary, [...args, "--report", file(`${name}.html`)], { encoding: "utf8" });
      expect(ran.stderr).toBe("");
      spawnSync(binary, [...args, "--report", file(`${name}.json`)]);
      const json = JSON.parse(readFileSync(file(`${name}.json`), "utf8"));
      const page = await open(file(`${name}.html`));
      // What is exact no chart reaches.
      const values = name === "sweep" ? json.configurations.map((each: any) => each.sqnr_db) : json.curve.map((each: any) => each.value);
      expect(await page.locator(".points circle").count()).toBe(values.filter((value: any) => value !== "inf").length);
      if (name === "sweep") expect(await page.textContent(".points .sub")).toContain("fp32");
      else {
        expect(await page.textContent(".level text")).toBe(json.target);
        // Points are drawn before labels, so that none covers one.
        expect(await page.evaluate(() => { const label = [...document.querySelectorAll(".points svg text")].find((text) => text.textContent === "chosen"); return !label || [...document.querySelectorAll(".points circle")].every((circle) => circle.compareDocumentPosition(label) & Node.DOCUMENT_POSITION_FOLLOWING); })).toBe(true);
      }
      expect(await violations(page)).toEqual([]);
      await page.close();
    }
  });

  it("are small, and can be printed", async () => {
    const inspect = make("small", ["inspect", mnist("mnist_cnn.onnx")]);
    expect(readFileSync(inspect.page).length).toBeLessThan(1_500_000);
    expect(readFileSync(file("debug.html")).length).toBeLessThan(1_500_000);
    const page = await open(file("debug.html"), "at=o:logits");
    await page.emulateMedia({ media: "print" });
    expect(await page.isVisible(".top")).toBe(false);
    expect(await page.isVisible(".copy")).toBe(false);
    for (const part of [".verdict", ".plot", ".navigator .line", ".graph", ".inspector"]) expect(await page.locator(part).first().isVisible()).toBe(true);
    expect((await page.pdf()).length).toBeGreaterThan(10_000);
    await page.close();
  });

  it("of every other command have the verdict and the terminal's tables", async () => {
    const eval_page = make("eval", ["eval", mnist("mnist_cnn.int8.onnx"), "--reference", mnist("mnist_cnn.onnx"), "--input-data", mnist("mnist_inputs.npz"), "--samples", "8", "--fail-if", "sqnr_db<40"]);
    const task = make("task", ["eval", "-m", mnist("mnist_vit.int8.onnx"), "--reference", mnist("mnist_vit.onnx"), "--task", "image-feature-extraction", "--dataset", mnist("mnist_labelled.npz"), "--samples", "200", "--verdict", "1"]);
    const inspect = make("inspect", ["inspect", mnist("mnist_cnn.int8.onnx")]);
    const first = await open(eval_page.page);
    expect(await first.textContent(".badge")).toContain("FAIL");
    expect(await first.textContent(".line .figure")).toBe(eval_page.json.outputs[0].metrics.sqnr_db_mean.toFixed(2));
    expect(await first.isVisible(".tables table")).toBe(true);
    await first.close();
    const second = await open(task.page);
    expect(await second.locator(".metric").count()).toBe(task.json.metrics.length);
    expect(await second.textContent(".metric")).toContain(task.json.metrics[0].candidate.toFixed(2));
    await second.close();
    const third = await open(inspect.page);
    expect(await third.textContent(".tables")).toContain("QuantizeLinear");
    await third.close();
  });

  it("scroll 5,000 rows with few of them in the document", async () => {
    const json = JSON.parse(readFileSync(file("debug.json"), "utf8"));
    const row = json.activations[1];
    json.activations = Array.from({ length: 5000 }, (_, i) => ({ ...row, tensor_name: `/m${i % 50}/</script><script>alert(${i})</script>`, cumulative_sqnr_db: 60 * Math.abs(Math.sin(i)) }));
    writeFileSync(file("large.json"), JSON.stringify(json));
    execFileSync(binary, ["report", file("large.json"), "-o", file("large.html")]);
    const page = await open(file("large.html"), "tree=0");
    for (let y = 0; y < 5000 * 26; y += 26 * 500) {
      await page.evaluate((top) => document.querySelector(".lines")!.scrollTo(0, top), y);
      await page.waitForFunction((top) => [...document.querySelectorAll(".line")].some((line) => line.id === `line-${Math.floor(top / 26) + 2}`), y);
      expect(await page.locator(".line").count()).toBeLessThan(120);
    }
    await page.close();
  });

  it.skipIf(!existsSync(join(shared, "silero")))("show the subgraphs of If inside their node", async () => {
    const model = join(shared, "silero/silero_vad.onnx");
    const { page: path } = make("silero", ["check", model]);
    const page = await open(path);
    await page.click('button:has-text("open all")');
    expect(await page.locator(".group-title").count()).toBeGreaterThan(1);
    await page.close();
  });
});
