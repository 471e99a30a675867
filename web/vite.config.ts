import { defineConfig } from "vite";

// One script and one style, which embed.mjs puts into the page.
export default defineConfig({
  base: "./",
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: {
    target: "es2022",
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 0,
    emptyOutDir: true,
    rollupOptions: { output: { inlineDynamicImports: true } },
  },
});
