// Reads the tables of accepted and refused texts in test/unit/grammar/cases.
import { readFileSync } from 'node:fs'

export interface GrammarCase {
  readonly line: number
  readonly text: string
  /** The line below the text, without its marker; null if none exists. */
  readonly answer: string | null
}

export function readCases(file: string, mark: string): GrammarCase[] {
  const cases: GrammarCase[] = []
  const lines = readFileSync(new URL(`cases/${file}`, import.meta.url), 'utf8').split('\n')
  lines.forEach((text, i) => {
    if (text === '' || text.startsWith('#') || text.startsWith(`${mark} `)) return
    const below = lines[i + 1] ?? ''
    cases.push({ line: i + 1, text, answer: below.startsWith(`${mark} `) ? below.slice(mark.length + 1) : null })
  })
  return cases
}
