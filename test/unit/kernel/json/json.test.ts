import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Float } from '../../../../src/kernel/float.ts'
import { JSON_DEPTH_MAX, type JsonNumbers, parseJson, writeJson } from '../../../../src/kernel/json/json.ts'

function read(text: string, numbers?: JsonNumbers): unknown {
  const parsed = parseJson(text, numbers)
  if (!parsed.ok) throw new Error(parsed.error.message)
  return parsed.value
}

function messageOf(text: string): string {
  const parsed = parseJson(text)
  return parsed.ok ? 'no fault' : parsed.error.message
}

describe('numbers are parsed as written', () => {
  const table: [string, unknown][] = [
    ['1', 1],
    ['1.0', new Float(1)],
    ['1.5', 1.5],
    ['-0.0', new Float(-0)],
    ['1e3', new Float(1000)],
    ['1E-2', 0.01],
    ['9007199254740991', 9007199254740991],
    ['9007199254740993', 9007199254740993n],
    ['-123456789012345678901234567890', -123456789012345678901234567890n],
    ['1000000000000000', 1000000000000000],
    ['[0, -1, 20]', [0, -1, 20]],
    ['{"a": [1, 1.0], "b": {"c": 2.50}}', { a: [1, new Float(1)], b: { c: 2.5 } }],
    ['{"in text": "1.0 and 12345678901234567890"}', { 'in text': '1.0 and 12345678901234567890' }],
  ]
  for (const [text, value] of table) it(text, () => expect(read(text)).toStrictEqual(value))

  it('or only the integers that a number cannot represent', () => {
    const text = '[1.0, 1e2, 1e20, -0, 9007199254740993, -9007199254740992, 9007199254740991]'
    const value = [1, 100, 1e20, 0, 9007199254740993n, -9007199254740992n, 9007199254740991]
    expect(read(text, 'integers')).toStrictEqual(value)
    for (const tooLarge of ['1e999', '[-1.5E+0400]']) expect(parseJson(tooLarge, 'integers').ok).toBe(false)
  })

  it('or as plain numbers by default', () => {
    expect(read('[1.0, 1e2, 9007199254740993]', 'plain')).toStrictEqual([1, 100, 9007199254740992])
  })
})

describe('malformed text is reported with line and column', () => {
  const table: [string, string][] = [
    ['', 'malformed JSON at line 1, column 1: expected a value, found the end'],
    ['{"a": 1,}', 'malformed JSON at line 1, column 9: expected a key in double quotes, found `}`'],
    ['{"a" 1}', 'malformed JSON at line 1, column 6: expected `:`, found `1`'],
    ['{\n  "a": tru\n}', 'malformed JSON at line 2, column 8: expected a value, found `tru`'],
    ['[1 2]', 'malformed JSON at line 1, column 4: expected `,` or `]`, found `2`'],
    ['{"a": 1 "b": 2}', 'malformed JSON at line 1, column 9: expected `,` or `}`, found `"`'],
    ["{'a': 1}", "malformed JSON at line 1, column 2: expected a key in double quotes, found `'`"],
    ['1 2', 'malformed JSON at line 1, column 3: expected the end, found `2`'],
    ['"abc', 'malformed JSON at line 1, column 1: the string is not terminated'],
    ['"a\\', 'malformed JSON at line 1, column 1: the string is not terminated'],
    ['["\\x"]', 'malformed JSON at line 1, column 2: the string contains an invalid escape'],
    ['"a\tb"', 'malformed JSON at line 1, column 3: a control character inside a string must be escaped'],
    ['[01]', 'malformed JSON at line 1, column 2: not a valid JSON number'],
    ['[1.]', 'malformed JSON at line 1, column 2: not a valid JSON number'],
    ['[.5]', 'malformed JSON at line 1, column 2: expected a value, found `.`'],
    ['[-]', 'malformed JSON at line 1, column 2: not a valid JSON number'],
    ['[1e999]', 'malformed JSON at line 1, column 2: the number is out of range'],
    ['NaN', 'malformed JSON at line 1, column 1: expected a value, found `NaN`'],
    ['truely', 'malformed JSON at line 1, column 1: expected a value, found `truely`'],
    [`[${'x'.repeat(50)}]`, `malformed JSON at line 1, column 2: expected a value, found \`${'x'.repeat(20)}…\``],
  ]
  for (const [text, message] of table)
    it(JSON.stringify(text).slice(0, 40), () => expect(messageOf(text)).toBe(message))
})

describe('a duplicate member', () => {
  const twice: [string, string][] = [
    ['{"a": 1, "a": 2}', 'line 1, column 10: the member `a` is given twice'],
    ['{"a": 1.0, "a": 2}', 'line 1, column 12: the member `a` is given twice'],
    ['[{"b": {"a" : 1,\n"a"\t:2}}]', 'line 2, column 1: the member `a` is given twice'],
    ['{"a": 1, "\\u0061": 2}', 'line 1, column 10: the member `a` is given twice'],
    ['{"__proto__": 1, "__proto__": 2}', 'line 1, column 18: the member `__proto__` is given twice'],
    ['{"a:": "\\":", "a:": {}}', 'line 1, column 15: the member `a:` is given twice'],
  ]
  it.each(twice)('is refused: %s', (text, message) => {
    expect(messageOf(text)).toBe(`malformed JSON at ${message}`)
    expect(parseJson(text, 'plain').ok).toBe(false)
  })

  it.each([
    '{"a": 1, "A": 2, "b": {"a": 1}, "c": [{"a": 1}, {"a": 2}]}',
    '{"a": "b\\":", "c": "\\" :", ":": "\\\\"}',
    '[":", "a:b", "\\":\\":\\":"]',
    '{"constructor": 1, "toString": 2, "__proto__": 3}',
  ])('is not found in %s', (text) => {
    expect(JSON.stringify(read(text))).toBe(JSON.stringify(JSON.parse(text)))
  })

  it('is found at any depth', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }), fc.nat(), (members, pick) => {
        const written = Object.entries(members).map(
          ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`,
        )
        expect(messageOf(`{${written.join()}}`)).toBe('no fault')
        const again = written[pick % written.length]
        expect(messageOf(`{${[...written, again].join()}}`)).toContain('is given twice')
      }),
    )
  })
})

describe('hostile text', () => {
  it('with too deep nesting is refused without a stack overflow', () => {
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
    expect(messageOf(nested(JSON_DEPTH_MAX))).toBe('no fault')
    expect(messageOf(nested(JSON_DEPTH_MAX + 1))).toContain('nested deeper than 200 levels')
    expect(messageOf('['.repeat(1_000_000))).toContain('nested deeper than 200 levels')
    expect(messageOf('{"a":'.repeat(300_000))).toContain('nested deeper than 200 levels')
    expect(read(`["${'['.repeat(1000)}"]`)).toEqual(['['.repeat(1000)])
  })

  it('with too deep nesting is refused whatever brackets and quotes its strings contain', () => {
    const inText = `"${'[{'.repeat(20_000)}\\\\"`
    expect(messageOf(`[${inText}]`)).toBe('no fault')
    expect(messageOf(`{"\\"": ${inText}, "a": ${'['.repeat(201)}`)).toContain('nested deeper than 200 levels')
    expect(messageOf(`[${inText}, ${'['.repeat(199)}${']'.repeat(199)}]`)).toBe('no fault')
  })

  it('with more values than the limit is refused, with the position, and at the limit it is accepted', () => {
    const count = (value: unknown): number => {
      if (typeof value !== 'object' || value === null) return 1
      return Object.values(value).reduce((sum: number, member) => sum + count(member), 1)
    }
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(undefined, 1, '\t'), (value, space) => {
        // Long enough to be scanned before it is parsed.
        const text = `${JSON.stringify(value, null, space)}${' '.repeat(20_000)}`
        const values = count(value)
        expect(parseJson(text, 'exact', values).ok).toBe(true)
        const refused = parseJson(text, 'exact', values - 1)
        expect(refused.ok ? null : refused.error.message).toContain(`more than ${values - 1} values`)
      }),
    )
    const listed = parseJson(`[\n${'1,\n'.repeat(20)}1]`, 'plain', 10)
    expect(listed.ok ? null : listed.error.message).toBe('malformed JSON at line 10, column 2: more than 10 values')
  })

  it('cannot reach a prototype, in the fast parser or the exact one', () => {
    for (const number of ['1', '1.0']) {
      const value = read(`{"__proto__": {"polluted": ${number}}, "a": 1}`) as object
      expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
      expect(Object.keys(value).sort()).toEqual(['__proto__', 'a'])
      expect(({} as Record<string, unknown>).polluted).toBe(undefined)
    }
  })
})

describe('writing', () => {
  const table: [unknown, string][] = [
    [new Float(1), '1.0'],
    [new Float(-0), '-0.0'],
    [new Float(1e21), '1e+21'],
    [new Float(0.5), '0.5'],
    [new Float(Number.NaN), 'null'],
    [9223372036854775807n, '9223372036854775807'],
    [1, '1'],
    [1.5, '1.5'],
    [
      new Map<string, unknown>([
        ['a', new Float(2)],
        ['__proto__', [1n]],
        ['gone', undefined],
      ]),
      '{"a":2.0,"__proto__":[1]}',
    ],
    [{ a: undefined, b: [undefined, new Float(1)], c: { d: null } }, '{"b":[null,1.0],"c":{"d":null}}'],
    [{ when: new Date(0), float: new Float(1) }, '{"when":"1970-01-01T00:00:00.000Z","float":1.0}'],
    [{ toJSON: 1n, float: new Float(2) }, '{"toJSON":1,"float":2.0}'],
    [{ a: undefined, b: 'x"\n' }, '{"b":"x\\"\\n"}'],
    [undefined, 'null'],
  ]
  for (const [value, text] of table) it(text, () => expect(writeJson(value)).toBe(text))

  it('written values are parsed unchanged', () => {
    const scalar = fc.oneof(
      fc.string(),
      fc.boolean(),
      fc.constant(null),
      fc.maxSafeInteger(),
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((x) => (Number.isInteger(x) ? new Float(x) : x)),
      fc.bigInt(2n ** 53n, 2n ** 80n),
    )
    const data = fc.letrec<{ data: unknown }>((tie) => ({
      data: fc.oneof({ maxDepth: 3 }, scalar, fc.array(tie('data')), fc.dictionary(fc.string(), tie('data'))),
    })).data
    fc.assert(
      fc.property(data, (value) => {
        expect(read(writeJson(value))).toEqual(value)
      }),
    )
  })

  it('agrees with the runtime on every text that the runtime accepts', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        expect(read(text, 'plain')).toEqual(JSON.parse(text))
        // A float whose text matters is parsed by our own parser.
        const wrapped = `[0.5, ${text}]`
        expect(JSON.parse(writeJson(read(wrapped)))).toEqual(JSON.parse(wrapped))
      }),
    )
  })

  it('accepts no text that the runtime refuses', () => {
    const pieces = fc.constantFrom(
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"a"',
      '1',
      '1.0',
      '-',
      'e5',
      'true',
      'null',
      ' ',
      '\\',
      '"',
    )
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 8 }), (parts) => {
        const text = parts.join('')
        for (const whole of [text, `[0.5,${text}]`]) expect(parseJson(whole).ok).toBe(runtimeReads(whole))
      }),
      { numRuns: 2000 },
    )
  })
})

function runtimeReads(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
