// What is selected and how it is shown, kept in the address's fragment: a link points at a tensor.

export interface State {
  result: number;
  selected: string; // id of a row, "n:NUMBER" of a node, "g:path" of a module
  signal: string;
  filter: string;
  status: string;
  op: string;
  limit: string; // show what is worse than this
  sort: "order" | "worst" | "name";
  tree: boolean;
  zoom: [number, number] | null; // rows of the profile
  open: string[]; // modules of the graph
}

export const initial_state: State = {
  result: 0, selected: "", signal: "", filter: "", status: "", op: "", limit: "", sort: "order", tree: true, zoom: null, open: [],
};

export function read_state(fragment: string): State {
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  const zoom = (given.get("zoom") ?? "").split("-").map(Number);
  const sort = given.get("sort");
  return {
    result: Math.max(0, Number(given.get("result")) || 0),
    selected: given.get("at") ?? "",
    signal: given.get("signal") ?? "",
    filter: given.get("filter") ?? "",
    status: given.get("status") ?? "",
    op: given.get("op") ?? "",
    limit: given.get("limit") ?? "",
    sort: sort === "worst" || sort === "name" ? sort : "order",
    tree: given.get("tree") !== "0",
    zoom: zoom.length === 2 && zoom.every(Number.isFinite) && zoom[1]! > zoom[0]! ? [zoom[0]!, zoom[1]!] : null,
    open: given.getAll("open"),
  };
}

export function write_state(state: State): string {
  const kept = new URLSearchParams();
  if (state.result) kept.set("result", String(state.result));
  if (state.selected) kept.set("at", state.selected);
  if (state.signal) kept.set("signal", state.signal);
  if (state.filter) kept.set("filter", state.filter);
  if (state.status) kept.set("status", state.status);
  if (state.op) kept.set("op", state.op);
  if (state.limit) kept.set("limit", state.limit);
  if (state.sort !== "order") kept.set("sort", state.sort);
  if (!state.tree) kept.set("tree", "0");
  if (state.zoom) kept.set("zoom", `${state.zoom[0]}-${state.zoom[1]}`);
  for (const module of state.open) kept.append("open", module);
  return kept.toString();
}
