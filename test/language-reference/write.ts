// Writes the generated parts of grammar/README.md, from which docs/reference/cypher.md is made, and the page of diagrams.
// `npm run golden` calls it with `--write`; without, it compares.
// It is part of the tests because it runs the engine, which the grammar must not import.
import { readFileSync, writeFileSync } from 'node:fs'
import { diagramsPath, diagramsText } from './diagrams.ts'
import { pageText, readmePath } from './page.ts'

const pages: readonly (readonly [path: string, text: string])[] = [
  [readmePath, await pageText()],
  [diagramsPath, diagramsText()],
]
const stale = pages.filter(([path, text]) => readFileSync(path, 'utf8') !== text)
for (const [path, text] of stale) {
  if (process.argv.includes('--write')) writeFileSync(path, text)
  console.log(`${path} ${process.argv.includes('--write') ? 'is written' : 'is not up to date: --write writes it'}`)
}
if (stale.length === 0) console.log('both pages are up to date')
else if (!process.argv.includes('--write')) process.exitCode = 1
