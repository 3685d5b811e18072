// Checks the list of requirements: ids are unique, and every test that it names exists and is not skipped.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { gaps, requirements } from './requirements.ts'

describe('the list of requirements', () => {
  test('uses every id once', () => {
    const ids = [...requirements, ...gaps].map(({ id }) => id)
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([])
  })

  for (const { id, sentence, shownBy } of requirements) {
    test(`${id}: ${sentence}`, () => {
      expect(shownBy.length).toBeGreaterThan(0)
      for (const [file, name] of shownBy) {
        const lines = readFileSync(join(import.meta.dirname, '..', file), 'utf8').split('\n')
        const tests = lines.filter((line, at) => {
          // The title is on the line of the call or on the next line.
          const call = `${lines[at - 1] ?? ''}\n${line}`
          return (
            line.includes(name) && /\b(test|it)(\.each\(.*\))?\(\s*['"`]/.test(call) && !/\.(skip|todo)\b/.test(call)
          )
        })
        expect(tests, `${file}: ${name}`).not.toEqual([])
      }
    })
  }
})
