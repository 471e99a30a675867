import { Copy } from "./Copy";
import { text_of, tone_of, type Block, type Cell } from "./data";

const Text = ({ cell }: { cell: Cell }) => <span class={`tone-${tone_of(cell)}`}>{text_of(cell)}</span>;

// A report's blocks as the terminal has them.
export function Blocks({ blocks }: { blocks: Block[] }) {
  return <>{blocks.map((block, i) => <One key={i} block={block} />)}</>;
}

function One({ block }: { block: Block }) {
  switch (block.kind) {
    case "paragraph":
      return <p><Text cell={block.text} /></p>;
    case "code":
      return <div class="paste"><pre tabIndex={0}><code>{block.text}</code></pre><Copy text={block.text} label="Copy this" /></div>;
    case "panel":
      return (
        <div class="panel">
          {block.title && <h3>{block.title}</h3>}
          <dl class="facts rows">{block.facts.map(([name, cell], i) => <div key={i}><dt>{name}</dt><dd><Text cell={cell} /></dd></div>)}</dl>
        </div>
      );
    case "table":
      return (
        <figure class="table" tabIndex={0} aria-label={block.title || "Table"}>
          {block.title && <h3>{block.title}</h3>}
          <table>
            <thead><tr>{block.columns.map((column, i) => <th key={i} scope="col" class={column.left ? "left" : ""}>{column.title}</th>)}</tr></thead>
            <tbody>
              {block.rows.map((row, r) => (
                <tr key={r}>{row.map((cell, i) => <td key={i} class={block.columns[i]?.left ? "left" : ""}><Text cell={cell} /></td>)}</tr>
              ))}
            </tbody>
          </table>
          {block.note && <figcaption>{block.note}</figcaption>}
        </figure>
      );
  }
}
