// Names in texts of Cypher: backticks where the grammar needs them, and the names of parameters and definitions.
import { describe, expect, test } from 'vitest'
import { parse } from '../../../../grammar/index.ts'
import { cypherName, namesDefinedIn, parametersIn } from '../../../../src/kernel/text/cypher-names.ts'

describe('a name in Cypher', () => {
  test.each([
    ['P', 'P'],
    ['Straße', 'Straße'],
    ['हिन्दी', 'हिन्दी'],
    ['where', 'where'],
    ['order-line', '`order-line`'],
    ['api.v1.Doc', '`api.v1.Doc`'],
    ['tenant/doc', '`tenant/doc`'],
    ['m²', '`m²`'],
    ['1a', '`1a`'],
    ['tick`ed', '`tick``ed`'],
  ])('%s is written %s, and read back', (name, written) => {
    expect(cypherName(name)).toBe(written)
    const text = `MATCH (n:${written})-[:${written}]->() WHERE n.${written} = $${written} RETURN n`
    const parsed = parse(text)
    expect(parsed.ok, text).toBe(true)
    expect(JSON.stringify(parsed, (_, value) => (typeof value === 'bigint' ? `${value}` : value))).toContain(
      JSON.stringify(name),
    )
  })

  test('needs backticks exactly where the lexer ends before it', () => {
    for (let point = 0x20; point <= 0xffff; point++) {
      if (point >= 0xd800 && point <= 0xdfff) continue
      const name = `a${String.fromCodePoint(point)}b`
      if (name.includes('`')) continue
      const parsed = parse(`RETURN 1 AS ${cypherName(name)}`)
      if (!parsed.ok) expect.fail(`U+${point.toString(16)} is read in another way`)
    }
  })
})

test('parameters are found in plain and in quoted form, each once', () => {
  expect(parametersIn('$a + $Straße - $`first name` / $`tick``ed` + $हिन्दी.x + $a + $ 1')).toEqual([
    'a',
    'Straße',
    'first name',
    'tick`ed',
    'हिन्दी',
  ])
})

test('definitions are found in a text that is being written', () => {
  const text = 'DEFINE (u:User)-[:can_view]->(d) AS { MATCH … } define (u)-[ : `may-see/all` ]->(d:'
  expect(namesDefinedIn(text)).toEqual(['can_view', 'may-see/all'])
})
