// node embed.mjs IN.html PAGE.html PAGE.cpp: puts script and style of a built page into it, names both
// by their hashes in its Content-Security-Policy, and writes it as a C++ source too.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const [source, page, cpp] = process.argv.slice(2);
const read = (name) => readFileSync(join(dirname(source), name), "utf8");
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

let html = readFileSync(source, "utf8");
let style = "";
let script = "";
html = html.replace(/<link [^>]*href="\.?\/?([^"]+\.css)"[^>]*>/g, (_, name) => ((style += read(name)), ""));
html = html.replace(/<script [^>]*src="\.?\/?([^"]+\.js)"[^>]*><\/script>/g, (_, name) => ((script += read(name)), ""));
style = style.trim();
// A text in the script that looks like its end would end it.
script = script.trim().replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
const policy = [
  "default-src 'none'",
  `script-src ${hash(script)}`,
  `style-src ${hash(style)}`,
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");
html = html
  .replace("__POLICY__", () => policy)
  .replace("</head>", () => `<style>${style}</style></head>`)
  .replace("</body>", () => `<script type="module">${script}</script></body>`);
writeFileSync(page, html);

// Raw strings, in pieces that compilers take.
const bytes = Buffer.from(html, "utf8").toString("latin1");
const pieces = [];
for (let i = 0; i < bytes.length; i += 12000) pieces.push(bytes.slice(i, i + 12000));
const literals = pieces.map((piece) => `R"PAGE(${piece})PAGE"`).join("\n");
writeFileSync(
  cpp,
  Buffer.from(
    `#include "vernier/report/html_page.h"\nnamespace vernier {\nnamespace {\nconstexpr char page[] =\n${literals};\n}\n` +
      "std::string_view html_page() { return {page, sizeof(page) - 1}; }\n}\n",
    "latin1",
  ),
);
