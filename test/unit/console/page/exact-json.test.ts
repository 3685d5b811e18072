// JSON of the service without loss.
import { expect, test } from 'vitest'
import { ExactNumber, exactText, parseExact, plainValue } from '../../../../src/console/page/exact-json.ts'

test.each([
  '{"rows":[[9007199254740993,2.0,-0.50,1e3,12345678901234567890]]}',
  '[9223372036854775807]',
  '{"a":1.5,"b":[true,null,"9007199254740993","2.0,"],"__proto__":{"x":1}}',
  '[]',
  '{}',
])('keeps the text of %s', (text) => {
  expect(exactText(parseExact(text))).toBe(text)
})

test('leaves numbers that JavaScript writes in the same way as they are', () => {
  expect(parseExact('[1,1.5,9007199254740993]')).toEqual([1, 1.5, new ExactNumber('9007199254740993')])
})

test('indents', () => {
  expect(exactText(parseExact('{"a":[1,{"b":2.0}],"c":{}}'), 2)).toBe(
    '{\n  "a": [\n    1,\n    {\n      "b": 2.0\n    }\n  ],\n  "c": {}\n}',
  )
})

test('shows a string without quotes', () => {
  expect([plainValue('a "b"'), plainValue(null), plainValue(['a'])]).toEqual(['a "b"', 'null', '["a"]'])
})
