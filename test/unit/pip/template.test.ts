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
    expect(url('https://a.example/{$}', {})).toBe('expected placeholders of the form `{$name}`')
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
