import { render } from "preact";
import { App } from "./App";
import type { ReportData } from "./data";
import "./style.css";

const text = document.getElementById("data")?.textContent ?? "";
render(<App data={JSON.parse(text) as ReportData} />, document.getElementById("app")!);
