import { useEffect, useRef } from "preact/hooks";
import { ramp_colour } from "./colour";
import type { Layout } from "./layout";
import { row_goodness, type Row, type Signal } from "./rows";
import type { Size, View } from "./view";

interface MinimapProps {
  layout: Layout;
  view: View;
  size: Size;
  worst: Map<string, Row>;
  signal: Signal;
  largest: number;
  selected: string;
  go: (x: number, y: number) => void;
}

// The whole graph in little, with the part that is in view; mounted only while there is more than that.
export function Minimap({ layout, view, size, worst, signal, largest, selected, go }: MinimapProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const k = Math.min(130 / layout.width, 170 / layout.height);
  const [width, height] = [Math.max(24, layout.width * k), Math.max(24, layout.height * k)];
  useEffect(() => {
    const context = canvas.current?.getContext("2d");
    if (!context) return;
    const ratio = devicePixelRatio || 1;
    canvas.current!.width = width * ratio;
    canvas.current!.height = height * ratio;
    context.scale(ratio * k, ratio * k);
    const plain = getComputedStyle(canvas.current!).getPropertyValue("--node-edge");
    for (const box of layout.boxes) {
      if (box.open) continue;
      const good = row_goodness(worst.get(box.id), signal, largest);
      context.fillStyle = good === null ? plain : ramp_colour(good);
      context.fillRect(box.x, box.y, Math.max(box.width, 1.5 / k), Math.max(box.height, 1.5 / k));
      if (box.id === selected) {
        context.strokeStyle = getComputedStyle(canvas.current!).getPropertyValue("--ink");
        context.lineWidth = 2 / k;
        context.strokeRect(box.x - 1 / k, box.y - 1 / k, box.width + 2 / k, box.height + 2 / k);
      }
    }
  }, [layout, worst, signal, largest, selected, width, height, k]);
  const jump = (event: PointerEvent) => {
    if (event.type === "pointermove" && event.buttons === 0) return;
    event.stopPropagation();
    const bounds = canvas.current!.getBoundingClientRect();
    go((event.clientX - bounds.left) / k, (event.clientY - bounds.top) / k);
  };
  const clamp = (value: number, most: number) => Math.min(most, Math.max(0, value));
  const left = clamp((-view.x / view.k) * k, width), top = clamp((-view.y / view.k) * k, height);
  const right = clamp(((size.width - view.x) / view.k) * k, width), bottom = clamp(((size.height - view.y) / view.k) * k, height);
  return (
    <div class="minimap" aria-hidden="true" style={{ width: `${width}px`, height: `${height}px` }} onPointerDown={jump} onPointerMove={jump}>
      <canvas ref={canvas} style={{ width: `${width}px`, height: `${height}px` }} />
      <span style={{ left: `${left}px`, top: `${top}px`, width: `${Math.max(4, right - left)}px`, height: `${Math.max(4, bottom - top)}px` }} />
    </div>
  );
}
