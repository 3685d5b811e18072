import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readJsonText } from '../../../src/policy/json-text.ts'

/** What the platform makes of the text; undefined where it refuses. */
function platform(text: string): { value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

/** Long integers, which the platform rounds, rounded. */
function rounded(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(rounded)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, rounded(member)]))
}

describe('JSON in a string', () => {
  test('keeps long integers apart, which the platform makes one', () => {
    const text = '[9007199254740993, 9007199254740992, -9007199254740993, 1.0, 1e3]'
    expect(readJsonText(text)).toEqual({
      ok: true,
      value: [9007199254740993n, 9007199254740992n, -9007199254740993n, 1, 1000],
    })
  })

  test('reads as the platform reads it, for any document', () => {
    fc.assert(
      fc.property(fc.json({ noUnicodeString: false }), fc.boolean(), (text, spaced) => {
        if (text.includes('"__proto__"')) return
        const shown = spaced ? JSON.stringify(JSON.parse(text), null, 2) : text
        const read = readJsonText(shown)
        expect([read.ok, rounded(read.ok && read.value)]).toEqual([true, JSON.parse(text)])
      }),
      { verbose: true },
    )
  })

  test('is refused where the platform refuses it, for any damage to a document', () => {
    fc.assert(
      fc.property(
        fc.json(),
        fc.nat(),
        fc.constantFrom('', '"', '{', '}', '[', ']', ',', ':', '0', '-', 'e', '\\', '\n', 'x'),
        (text, where, piece) => {
          const at = where % (text.length + 1)
          const damaged = text.slice(0, at) + piece + text.slice(at + 1)
          const read = readJsonText(damaged)
          const expected = platform(damaged)
          if (read.ok) expect(expected).toEqual({ value: rounded(read.value) })
          else if (!/given twice|__proto__|out of range/.test(read.error.message)) expect(expected).toBeUndefined()
          if (!read.ok) expect(read.error.offset).toBeLessThanOrEqual(damaged.length)
        },
      ),
      { numRuns: 2000, verbose: true },
    )
  })

  test.each([
    ['', 0, 'expected a value, found the end'],
    ['{"a" 1}', 5, 'expected `:`, found `1`'],
    ['{"a":1,}', 7, 'expected a string, found `}`'],
    ['[1 2]', 3, 'expected `,` or `]`, found `2`'],
    ['{"a":1} x', 8, 'expected the end of the document, found `x`'],
    ['{"a":"b', 5, 'expected a string that ends and holds no bare control character, found `"`'],
    ["{'a':1}", 1, "expected a string, found `'`"],
    ['{"a":1e999}', 5, 'the number is out of range'],
    ['{"a":01}', 6, 'expected `,` or `}`, found `1`'],
    ['{"a":1,"\\u0061":2}', 7, 'the member `a` is given twice'],
    ['{"__proto__":{"x":1}}', 1, 'unknown member `__proto__`'],
    ['['.repeat(70), 65, 'nested more than 64 deep'],
  ])('%s is refused at %i', (text, offset, message) => {
    expect(readJsonText(text)).toEqual({ ok: false, error: { offset, message } })
  })
})
