// What the page is made of: the commands' own JSON, and what was added to it for the page.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type JsonObject = { [key: string]: Json };

export type Cell = string | [string, string]; // a text, or a text and its tone
export type Block =
  | { kind: "panel"; title: string; facts: [string, Cell][] }
  | { kind: "table"; title: string; columns: { title: string; left: boolean }[]; rows: Cell[][]; note: string }
  | { kind: "paragraph"; text: Cell }
  | { kind: "code"; text: string };

export interface GraphNodeData {
  name: string;
  op: string;
  graph: number;
  in: number[];
  out: number[];
  domain?: string;
  attributes?: { [name: string]: string };
  module?: string;
  source?: [string, number, string];
}

export interface GraphData {
  tensors: string[];
  types: { [tensor: string]: string };
  weights: number[];
  graphs: { name: string; owner?: number; inputs: number[]; outputs: number[] }[];
  nodes: GraphNodeData[];
  sources: { [file: string]: { [line: string]: string } };
}

// What was recorded of one pair of tensors, on one sample; arrays are base64 of little-endian bytes.
export interface TensorDetail {
  shape: number[];
  range: [number, number]; // of the histograms of values
  error_range: [number, number];
  reference: string; // uint32 counts
  candidate: string;
  error: string;
  mean_abs_error: number;
  worst: { index: number[]; reference: number; candidate: number };
  channel_axis: number;
  channels: string; // float32: the root mean square error of each channel
  channel_signal: string; // float32: the root mean square of the reference's channel
  slices: { label: string; index: number; rows: number; columns: number; low: number; high: number; error: number; reference: string; difference: string }[];
}

export interface ReportResult {
  result: JsonObject;
  document?: { title: string; blocks: Block[] };
  command_line?: string;
  graph?: GraphData;
  detail?: { sample?: number; tensors?: { [row: string]: TensorDetail }; thumbnails?: { [sample: string]: string } };
}

export interface ReportData {
  results: ReportResult[];
}

export const text_of = (cell: Cell): string => (typeof cell === "string" ? cell : cell[0]);
export const tone_of = (cell: Cell): string => (typeof cell === "string" ? "plain" : cell[1]);

export const as_object = (value: Json | undefined): JsonObject =>
  value !== null && typeof value === "object" && !Array.isArray(value) ? value : {};
export const as_list = (value: Json | undefined): JsonObject[] =>
  Array.isArray(value) ? value.map(as_object) : [];
export const as_text = (value: Json | undefined): string => (typeof value === "string" ? value : "");

// JSON has no non-finite numbers: Vernier writes them as words. Nothing is NaN's other meaning here, so
// null stays null.
export function as_number(value: Json | undefined): number | null {
  if (typeof value === "number") return value;
  if (value === "inf") return Infinity;
  if (value === "-inf") return -Infinity;
  if (value === "nan") return NaN;
  return null;
}

export function decode_bytes(base64: string): Uint8Array {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  return bytes;
}
export const decode_u32 = (base64: string): Uint32Array => new Uint32Array(decode_bytes(base64).buffer);
export const decode_f32 = (base64: string): Float32Array => new Float32Array(decode_bytes(base64).buffer);
