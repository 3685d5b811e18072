// Writes the generated parts of grammar/README.md, from which docs/reference/cypher.md is made.
// `npm run golden` calls it with `--write`; without, it compares.
// It is part of the tests because it runs the engine, which the grammar must not import.
import { readFileSync, writeFileSync } from 'node:fs'
import { pageText, readmePath } from './page.ts'

const text = await pageText()
if (readFileSync(readmePath, 'utf8') === text) console.log('the page is up to date')
else if (process.argv.includes('--write')) {
  writeFileSync(readmePath, text)
  console.log(`${readmePath} is written`)
} else {
  console.log(`${readmePath} is not up to date: --write writes it`)
  process.exitCode = 1
}
