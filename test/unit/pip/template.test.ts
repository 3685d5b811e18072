import { describe, expect, it } from 'vitest'
import { parseSelector, select } from '../../../src/pip/response-selector.ts'
import { readPayloadTemplate, readUrlTemplate } from '../../../src/pip/template.ts'

function url(template: string, values: Record<string, unknown>): unknown {
  const read = readUrlTemplate(template)
  if (!read.ok) return read.error
  const filled = read.value((name) => values[name])
  return filled.ok ? filled.value : [filled.error]
}

function payload(template: string, values: Record<string, unknown>): unknown {
  const read = readPayloadTemplate(template)
  if (!read.ok) return read.error
  const filled = read.value((name) => values[name])
  return filled.ok ? filled.value : [filled.error]
}

describe('the URL of a resolver', () => {
  it('accepts values in path and query, encoded', () => {
    const template = 'https://a.example/v1/{$maker}/x-{$id}?q={$q}&n={$n}#top'
    expect(url(template, { maker: 'Ünder Wood', id: 7, q: 'a&b=c#d', n: true })).toBe(
      'https://a.example/v1/%C3%9Cnder%20Wood/x-7?q=a%26b%3Dc%23d&n=true#top',
    )
  })

  it('lets no value choose another host, path, query or line', () => {
    const changed = ['the values of the placeholders would change the path']
    const template = 'https://a.example/users/{$id}/card'
    for (const id of ['..', '.']) expect(url(template, { id }), id).toEqual(changed)
    expect(url('https://a.example/users/{$id}', { id: '.' })).toEqual(changed)
    expect(url('https://a.example/users/%2e{$id}', { id: '.' })).toEqual(changed)
    expect(url('https://a.example/users/{$a}{$b}/x', { a: '.', b: '.' })).toEqual(changed)
    const hostile = [
      '../admin',
      '..\\admin',
      '%2e%2e',
      '@evil.example',
      '//evil.example',
      '?a=b',
      '#',
      'a\r\nX: y',
      '\u0000',
    ]
    for (const id of hostile) {
      const filled = String(url(template, { id }))
      expect(filled, id).toBe(`https://a.example/users/${encodeURIComponent(id)}/card`)
      expect(new URL(filled).pathname.split('/')).toHaveLength(4)
    }
  })

  it('is not filled with absent values, lists, empty path segments or values that are not text', () => {
    const template = 'https://a.example/{$id}?q={$q}'
    expect(url(template, { q: '' })).toEqual(['there is no scalar value for `{$id}`'])
    for (const id of [null, [1], { a: 1 }, Number.NaN]) {
      expect(url(template, { id, q: '' })).toEqual(['there is no scalar value for `{$id}`'])
    }
    expect(url(template, { id: '', q: '' })).toEqual(['the value of `{$id}` is empty, which the path does not allow'])
    expect(url(template, { id: 1, q: '\ud800' })).toEqual(['the value of `{$q}` cannot be encoded in a URL'])
    expect(url(template, { id: 1, q: 'x'.repeat(9000) })).toEqual(['the URL is too long with its values'])
    expect(url(template, { id: 1, q: '' })).toBe('https://a.example/1?q=')
  })

  it('is refused with a placeholder in the host, however the URL is written', () => {
    for (const template of [
      'https://{$host}/x',
      'https:/{$host}/x',
      'https:{$host}/x',
      'https:\\\\{$host}\\x',
      'https:///{$host}/x',
      'https://a.{$host}.example/x',
      'https://a.example:{$port}/x',
    ]) {
      expect(url(template, { host: 'evil.example', port: 1 }), template).toBe('the host cannot contain a placeholder')
    }
    expect(url('https://{$user}@a.example/', {})).toBe('a URL with user name or password is not allowed')
    expect(url('https://a.example/{$}', {})).toBe('expected placeholders of the form `{$name}` or `{$name || default}`')
    expect(url('{$scheme}://a.example/', {})).toBe('expected a URL')
    expect(url('file:///etc/{$name}', {})).toBe('expected the scheme `https:` or `http:`')
  })
})

describe('the payload of a resolver', () => {
  it('accepts text within strings and any value outside of them', () => {
    expect(payload('{"id":"car {$id}","all":{$all},"n":{$n}}', { id: 'a"b\\', all: [1, { x: null }], n: 'text' })).toBe(
      '{"id":"car a\\"b\\\\","all":[1,{"x":null}],"n":"text"}',
    )
    expect(payload('', {})).toBeNull()
  })

  it('lets no value end its string or add a member', () => {
    const template = '{"id":"{$id}","admin":false,"raw":{$id}}'
    const hostile = ['","admin":true,"x":"', '\\', '\\",', '\u2028\n\u0000', '{$id}', '}']
    for (const id of hostile) {
      expect(JSON.parse(String(payload(template, { id })))).toEqual({ id, admin: false, raw: id })
    }
    expect(payload('{"{$key}":1,"admin":false}', { key: 'admin' })).toEqual([
      'with these values the payload is not JSON, has a duplicate member or is deeper than 200 levels',
    ])
    expect(payload('{"id":"{$id}"}', { id: { a: 1 } })).toEqual(['there is no scalar value for `{$id}`'])
    expect(payload('{"id":{$id}}', {})).toEqual(['there is no scalar value for `{$id}`'])
  })

  it('is refused if it is not JSON', () => {
    expect(payload('{"id":', {})).toBe('malformed JSON at line 1, column 7: expected a value, found the end')
    expect(payload('{"id":x{$id}}', {})).toMatch(/^malformed JSON/)
  })
})

describe('the default of a placeholder', () => {
  const query = (placeholder: string, values: Record<string, unknown> = {}): unknown => {
    const filled = url(`https://a.example/x?q=${placeholder}`, values)
    return typeof filled === 'string' && URL.canParse(filled) ? new URL(filled).searchParams.get('q') : filled
  }
  /** The value of the member `v` outside of a string, parsed. */
  const raw = (placeholder: string, values: Record<string, unknown> = {}): unknown => {
    const filled = payload(`{"v": ${placeholder}}`, values)
    return String(filled).startsWith('{') ? JSON.parse(String(filled)).v : filled
  }
  const inString = (placeholder: string, values: Record<string, unknown> = {}): unknown => {
    const filled = payload(`{"v": "<${placeholder}>"}`, values)
    return String(filled).startsWith('{') ? JSON.parse(String(filled)).v.slice(1, -1) : filled
  }

  it('stands in for an absent value and for null, and for nothing else', () => {
    const forecast = 'https://a.example/v1/forecast?latitude={$latitude || 51.5072}&longitude={$longitude||-0.1276}'
    expect(url(forecast, {})).toBe('https://a.example/v1/forecast?latitude=51.5072&longitude=-0.1276')
    expect(url(forecast, { latitude: 48.2, longitude: null })).toBe(
      'https://a.example/v1/forecast?latitude=48.2&longitude=-0.1276',
    )
    for (const [value, expected] of [
      [null, 'd'],
      [undefined, 'd'],
      ['', ''],
      [0, '0'],
      [false, 'false'],
    ] as const) {
      expect(query('{$x || d}', { x: value }), String(value)).toBe(expected)
      expect(inString('{$x || d}', { x: value }), String(value)).toBe(expected)
      expect(raw('{$x || d}', { x: value }), String(value)).toBe(value ?? 'd')
    }
    // A value of another type is an error, not an absent value.
    expect(query('{$x || d}', { x: [1] })).toEqual(['there is no scalar value for `{$x}`'])
    expect(inString('{$x || d}', { x: { a: 1 } })).toEqual(['there is no scalar value for `{$x}`'])
  })

  it('is trimmed, and taken literally within quotes', () => {
    for (const [placeholder, expected] of [
      ['{$x || two words }', 'two words'],
      ['{$x||d}', 'd'],
      ['{$x\t||\td}', 'd'],
      ["{$x || ' d ' }", ' d '],
      ['{$x || "}"}', '}'],
      ["{$x || '{$y || {}}'}", '{$y || {}}'],
      ["{$x || 'it''}", undefined],
      ["{$x || 'it\\'s \\\\ \\n'}", "it's \\ \\n"],
      ["{$x || O'Neil}", "O'Neil"],
      ['{$x || a || b}', 'a || b'],
      ['{$x || $y}', '$y'],
      ['{$x || }', ''],
      ["{$x || ''}", ''],
      ['{$x || null}', 'null'],
      ['{$x.y || d}', 'd'],
    ] as const) {
      if (expected === undefined) expect(query(placeholder)).toContain('expected `}` after the quoted default')
      else expect(query(placeholder), placeholder).toBe(expected)
    }
  })

  it('is encoded in a URL as a value is', () => {
    expect(url('https://a.example/v1/{$city || Bad Ischl/..?x#y}/now?q={$q || a&b=c}', {})).toBe(
      'https://a.example/v1/Bad%20Ischl%2F..%3Fx%23y/now?q=a%26b%3Dc',
    )
    expect(url('https://a.example/{$a || what?}/{$b}', { b: '' })).toEqual([
      'the value of `{$b}` is empty, which the path does not allow',
    ])
  })

  it('changes neither host nor path: such a template is refused', () => {
    for (const template of [
      'https://{$host || a.example}/x',
      'https://a.example{$host || .evil.example}/x',
      'https://a.example:{$port || 8443}/x',
      'https://{$user || ann}@a.example/x',
      "https:{$host || '//evil.example'}/x",
    ]) {
      expect(url(template, {}), template).toMatch(/^(the host cannot contain a placeholder|a URL with user name)/)
    }
    const path = 'with the defaults of the placeholders: the values of the placeholders would change the path'
    expect(url('https://a.example/users/{$id || ..}/card', {})).toBe(path)
    expect(url("https://a.example/users/{$id || '.'}", { id: 7 })).toBe(path)
    expect(url('https://a.example/users/{$id || }/card', { id: 7 })).toBe(
      'with the defaults of the placeholders: the value of `{$id}` is empty, which the path does not allow',
    )
    // Nor do a value and a default together.
    expect(url('https://a.example/users/{$a || a}{$b}', { a: '.', b: '.' })).toEqual([
      'the values of the placeholders would change the path',
    ])
  })

  it('is JSON outside of strings in a payload, and escaped text within', () => {
    for (const [text, expected] of [
      ['51.5072', 51.5072],
      ['5', 5],
      ['true', true],
      ['null', null],
      ['[1, "a"]', [1, 'a']],
      ['London', 'London'],
      ['two "words"', 'two "words"'],
      ['"5"', '5'],
      ["'5'", '5'],
      ["''", ''],
      ['\'{"a": 1}\'', '{"a": 1}'],
    ] as const) {
      expect(raw(`{$x || ${text}}`), text).toEqual(expected)
    }
    expect(payload('{"v": {$x || 5.0}, "n": {$n || 9007199254740993}}', {})).toBe('{"v": 5.0, "n": 9007199254740993}')
    for (const [text, expected] of [
      ['51.5072', '51.5072'],
      ['London', 'London'],
      ["'5'", '5'],
      ['"quoted"', 'quoted'],
      ['\\"quoted\\"', 'quoted'],
      ['\\"a \\\\\\"b\\\\\\" }\\"', 'a "b" }'],
      ['\\u00e4', 'ä'],
      ['a\\nb', 'a\nb'],
      ['\'","admin":true,"y":"\'', '","admin":true,"y":"'],
      ['', ''],
    ] as const) {
      expect(inString(`{$x || ${text}}`), text).toBe(expected)
    }
  })

  it('is refused if it is not written as one', () => {
    for (const [placeholder, issue] of [
      ['{$x | d}', 'the placeholder `{$x`: expected `||`'],
      ['{$x || d', 'the placeholder `{$x`: expected `}` after the default'],
      ["{$x || 'd}", "the placeholder `{$x`: expected a closing ' in the default"],
      ["{$x || 'd' e}", 'the placeholder `{$x`: expected `}` after the quoted default'],
      ['{$x || {$y}}', 'the placeholder `{$x`: a default with braces must be quoted'],
    ] as const) {
      for (const form of [query, inString]) expect(form(placeholder), placeholder).toBe(issue)
    }
    expect(raw('{$x || }')).toBe('the default of `{$x}` is not JSON: write `""` for an empty string')
    expect(inString('{$x || \\q}')).toBe('the placeholder `{$x`: expected `}` after the default')
    expect(payload('{"a": "{$x || d", "b": "}"}', {})).toBe('the placeholder `{$x`: expected `}` after the default')
    // A default as a member name may duplicate another member.
    expect(payload('{"{$key || admin}": 1, "admin": false}', {})).toMatch(/^malformed JSON|duplicate/)
    expect(url('https://a.example/?q={$ x || d}', {})).toBe(
      'expected placeholders of the form `{$name}` or `{$name || default}`',
    )
  })
})

describe('the selector of a resolver', () => {
  const answer = { a: { b: [1, { c: 2.5 }] }, 'not-there': null }
  const selected = (text: string): unknown => {
    const selector = parseSelector(text)
    if (!selector.ok) return selector.error
    const found = select(selector.value, answer)
    return found.ok ? found.value : [found.error]
  }

  it('follows names and indexes, and returns null for a missing value', () => {
    expect(selected('.')).toBe(answer)
    expect(selected('.a.b[1].c')).toBe(2.5)
    expect(selected('.a.b')).toEqual([1, { c: 2.5 }])
    expect(selected('.a.b[7]')).toBeNull()
    expect(selected('.x.y[0].z')).toBeNull()
    expect(selected('.not-there.x')).toBeNull()
  })

  it('reaches nothing that the response does not contain', () => {
    for (const text of ['.constructor', '.__proto__', '.toString', '.a.hasOwnProperty'])
      expect(selected(text)).toBeNull()
    expect(selected('.a.b.length')).toEqual(['the selector expects `length`, found array'])
    expect(selected('.a[0]')).toEqual(['the selector expects item 0, found object'])
    expect(selected('.a.b[0].c')).toEqual(['the selector expects `c`, found number'])
  })
})
