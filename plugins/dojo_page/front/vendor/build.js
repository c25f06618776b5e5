// Build vendor.js, and write the licences of what is in it.
import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const folder = process.argv[2] ?? "."; // where the result goes
const { metafile } = await build({
  entryPoints: ["source.js"],
  outfile: `${folder}/vendor.js`,
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  metafile: true,
  logLevel: "warning",
});
const inside = /^node_modules\/((?:@[^/]+\/)?[^/]+)\//;
const names = [...new Set(Object.keys(metafile.inputs).flatMap((path) => inside.exec(path)?.[1] ?? []))].sort();
const texts = names.map((name) => {
  const { version } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8"));
  return `${name} ${version}\n\n${readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim()}\n`;
});
writeFileSync(`${folder}/licences.txt`, texts.join(`\n${"-".repeat(80)}\n\n`));
