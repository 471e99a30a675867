import { useState } from "preact/hooks";

// A button beside the <code> that it copies.
export function Copy({ text, label }: { text: string; label: string }) {
  const [copied, set_copied] = useState(false);
  const copy = async (event: MouseEvent) => {
    const code = (event.currentTarget as HTMLElement).parentElement?.querySelector("code");
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // A page from disk may not have the clipboard: the text is selected instead.
      if (code) getSelection()?.selectAllChildren(code);
      document.execCommand("copy");
    }
    set_copied(true);
    setTimeout(() => set_copied(false), 1500);
  };
  return <button class="copy" onClick={copy} aria-label={label}>{copied ? "copied ✓" : "copy"}</button>;
}
