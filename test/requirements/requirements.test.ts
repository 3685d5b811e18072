// The gate of the list of rules: ids are unique, every proof is there, no proof is skipped.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { gaps, requirements } from './requirements.ts'

describe('the list of rules', () => {
  test('uses every id once', () => {
    const ids = [...requirements, ...gaps].map(({ id }) => id)
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([])
  })

  for (const { id, sentence, shownBy } of requirements) {
    test(`${id}: ${sentence}`, () => {
      expect(shownBy.length).toBeGreaterThan(0)
      for (const [file, name] of shownBy) {
        const lines = readFileSync(join(import.meta.dirname, '..', file), 'utf8').split('\n')
        const proofs = lines.filter((line, at) => {
          // A test stands on one line, or its name on the line after the call.
          const call = `${lines[at - 1] ?? ''}\n${line}`
          return (
            line.includes(name) && /\b(test|it)(\.each\([^)]*\))?\(\s*['"`]/.test(call) && !/\.(skip|todo)\b/.test(call)
          )
        })
        expect(proofs, `${file}: ${name}`).not.toEqual([])
      }
    })
  }
})
