import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseDocument } from '../../../src/policy/document-json.ts'

/** The result of the runtime's JSON.parse; undefined if it refuses the text. */
function platform(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

/** Long integers, rounded as the runtime rounds them. */
function rounded(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(rounded)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, rounded(member)]))
}

const parse = (text: string) => parseDocument(text, 'policy')

describe('JSON in a string', () => {
  test('keeps long integers distinct, which the runtime rounds to one number', () => {
    const text = '[9007199254740993, 9007199254740992, -9007199254740993, 1.0, 1e3]'
    expect(parse(text)).toEqual({
      ok: true,
      value: [9007199254740993n, 9007199254740992n, -9007199254740993n, 1, 1000],
    })
  })

  test('is parsed as the runtime parses it, for any document', () => {
    fc.assert(
      fc.property(fc.json({ noUnicodeString: false }), fc.boolean(), (text, spaced) => {
        const shown = spaced ? JSON.stringify(JSON.parse(text), null, 2) : text
        const read = parse(shown)
        expect([read.ok, rounded(read.ok && read.value)]).toEqual([true, JSON.parse(text)])
      }),
      { verbose: true },
    )
  })

  test('is refused if the runtime refuses it, for any corruption of a document', () => {
    fc.assert(
      fc.property(
        fc.json(),
        fc.nat(),
        fc.constantFrom('', '"', '{', '}', '[', ']', ',', ':', '0', '-', 'e', '\\', '\n', 'x'),
        (text, where, piece) => {
          const at = where % (text.length + 1)
          const damaged = text.slice(0, at) + piece + text.slice(at + 1)
          const read = parse(damaged)
          const expected = platform(damaged)
          if (read.ok) expect(expected).toEqual({ value: rounded(read.value) })
          else if (!/given twice|out of range/.test(read.error[0] ?? '')) expect(expected).toBeUndefined()
          if (!read.ok)
            expect(read.error).toEqual([expect.stringMatching(/^policy: malformed JSON at line \d+, column \d+: /)])
        },
      ),
      { numRuns: 2000, verbose: true },
    )
  })

  test.each([
    ['', 1, 1, 'expected a value, found the end'],
    ['{"a" 1}', 1, 6, 'expected `:`, found `1`'],
    ['{\n"a":1,}', 2, 7, 'expected a key in double quotes, found `}`'],
    ['[1 2]', 1, 4, 'expected `,` or `]`, found `2`'],
    ['{"a":1} x', 1, 9, 'expected the end, found `x`'],
    ['{"a":"b', 1, 6, 'the string is not terminated'],
    ["{'a':1}", 1, 2, "expected a key in double quotes, found `'`"],
    ['{"a":1e999}', 1, 6, 'the number is out of range'],
    ['{"a":01}', 1, 6, 'not a valid JSON number'],
    ['{"a":1,"\\u0061":2}', 1, 8, 'the member `a` is given twice'],
    ['['.repeat(201), 1, 201, 'nested deeper than 200 levels'],
  ])('%s is refused at line %i, column %i', (text, line, column, message) => {
    expect(parse(text)).toEqual({
      ok: false,
      error: [`policy: malformed JSON at line ${line}, column ${column}: ${message}`],
    })
  })
})
