// Characters that a reader cannot see become escapes; words and emoji that are spelt with joiners are unchanged.
import { describe, expect, test } from 'vitest'
import { escapeInvisible, escapeInvisibleIn } from '../../../../src/kernel/text/invisible-characters.ts'

describe('escapeInvisible', () => {
  test.each([
    ['control characters', 'a\u0000\u001b[31m\r\u007f\u009b', 'a\\u0000\\u001b[31m\\u000d\\u007f\\u009b'],
    ['directions of text', 'a\u061c\u200e\u202e\u2066\u2069', 'a\\u061c\\u200e\\u202e\\u2066\\u2069'],
    ['tags', 'a\u{e0001}\u{e0041}', 'a\\udb40\\udc01\\udb40\\udc41'],
    [
      'widths and fillers',
      'a\u200b\u2060\ufeff\u00ad\u3164\u115f\u1160\uffa0\u180e',
      'a\\u200b\\u2060\\ufeff\\u00ad\\u3164\\u115f\\u1160\\uffa0\\u180e',
    ],
    ['blanks', 'a\u2800b', 'a\\u2800b'],
    ['separators of lines', 'a\u2028\u2029', 'a\\u2028\\u2029'],
    ['selectors and joiners of Latin letters', 'a\ufe0fb\u200dc\u{e0101}', 'a\\ufe0fb\\u200dc\\udb40\\udd01'],
    ['lone surrogates and private use', 'a\ud800\ue000', 'a\\ud800\\ue000'],
    ['annotations', 'a\ufff9b', 'a\\ufff9b'],
  ])('escapes %s', (_, text, expected) => expect(escapeInvisible(text)).toBe(expected))

  test.each(['plain\n\ttext', 'Zoë 東京 \u00a0', 'می\u200cخواهم', 'क्\u200dष', '👩🏽\u200d🚀 ❤\ufe0f 1\ufe0f\u20e3'])(
    'keeps %s',
    (text) => expect(escapeInvisible(text)).toBe(text),
  )

  test('keeps the value of JSON', () => {
    const value = { 'n\u202e': ['\u{e0041}\u200b\u009b', 'x'] }
    expect(JSON.parse(escapeInvisible(JSON.stringify(value)))).toEqual(value)
  })

  test('escapes texts within a value, and keeps its other values', () => {
    const value = { a: ['\u202e', 1, null, true], b: { c: 2n } }
    expect(escapeInvisibleIn(value)).toEqual({ a: ['\\u202e', 1, null, true], b: { c: 2n } })
    expect(escapeInvisibleIn({ a: [{ 'n\u202e': 1 }] })).toEqual({ a: [{ 'n\\u202e': 1 }] })
  })

  test('escapes objects without a prototype', () => {
    const value = Object.assign(Object.create(null), { 'n\u202e': '\u202e' })
    expect(escapeInvisibleIn([value])).toEqual([{ 'n\\u202e': '\\u202e' }])
  })

  test('keeps members apart whose names would become the same text', () => {
    const value = { 'n\u202e': 1, 'n\\u202e': 2, 'n\\u005cu202e': 3, m: 4 }
    expect(escapeInvisibleIn(value)).toEqual({ 'n\\u202e': 1, 'n\\u005cu202e': 2, 'n\\u005cu005cu202e': 3, m: 4 })
  })
})
