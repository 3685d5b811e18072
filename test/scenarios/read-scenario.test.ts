import { describe, expect, it } from 'vitest'
import { captureBodies, exactJson } from '../support/convert-graph.ts'
import { printGraph, readGraph } from '../support/graph-notation.ts'
import { readScenario } from './read-scenario.ts'

describe('the arrow notation', () => {
  it('is parsed and printed unchanged, integers and floats included', () => {
    const text = [
      "(ann:Person:Vip {age: 30, height: 1.0, tags: ['a', 'o\\'b'], identity: true})",
      "('doc.7 x':Document)",
      "(ann)-[:SEES {since: 1, 'odd name': true}]->('doc.7 x')",
    ].join('\n')
    expect(printGraph(readGraph(text))).toBe(text)
  })

  it('accepts arrows in both directions and bare names for nodes that are declared earlier', () => {
    const { nodes, relationships } = readGraph('(a:X)-[:R]->(b:Y)<-[:S]-(a) // and a comment\n(b)-[:T]->(b)')
    expect(nodes.map((node) => node.externalId)).toEqual(['a', 'b'])
    expect(relationships.map((each) => `${each.source.externalId} ${each.type} ${each.target.externalId}`)).toEqual([
      'a R b',
      'a S b',
      'b T b',
    ])
  })

  it.each([
    ['(a)', 'graph line 1, column 4: (a) has no type, and is not declared before'],
    ['(a:X)\n(a:Y)-[:R]->(a)', '(a) is of several types: write the one that is meant'],
    ['(a:X)-[R]->(a)', 'graph line 1, column 8: `:` is expected'],
    ['(a:X {age: })', 'a number, a quoted string, true, false or a list is expected'],
    ['(a:X)-[:R]->(a)-[:R]->(a)', 'a second R from a to a: relationships merge by their ends'],
    ['(a:X)\n(a:X {age: 1})', '(a) is declared before: write its labels and properties there'],
  ])('refuses %j', (text, message) => {
    expect(() => readGraph(text)).toThrow(message)
  })
})

describe('a scenario file', () => {
  const graph = 'graph: |\n  (ann:Person)-[:OWNS]->(c1:Car)\n'
  const policy = "  - {subject: Person, action: drive, resource: Car, cypher: 'MATCH (subject)-[:OWNS]->(resource)'}\n"

  it('keeps integers and floats of its parameters distinct', () => {
    const scenario = readScenario(
      'w',
      `${graph}policies:\n${policy}resources:\n  - [Person:ann, drive, {a: 4, b: 4.0, c: [1.5, x]}, [c1]]\n`,
    )
    expect([...(scenario.resources[0]?.parameters ?? [])]).toEqual([
      ['a', 4n],
      ['b', 4],
      ['c', [1.5, 'x']],
    ])
    expect(scenario.resources[0]?.soughtType).toBe('Car')
  })

  it.each([
    [`${graph}police: []\n`, 'w:3:1: unknown member `police`; did you mean `policies`?'],
    [`${graph}decisions:\n  - [Person:ann, drive, Car:c1, {}]\n`, 'w:4:33: decisions[0][3]: expected `yes` or `no` or'],
    [
      `${graph}decisions:\n  - [Person:ann, drive, Car:c1, {}, true]\n`,
      'w:4:37: decisions[0][4]: expected `yes` or `no` or `unknown-type` or `unknown-node` or `unknown-action` or `refused` or `failed` or `error`, found `true`',
    ],
    [
      `${graph}decisions:\n  - [Person:ann, drive]\n`,
      'w:4:5: decisions[0]: expected [subject, action, resource, params, expect] or [subject, action, resource, expect], found 2 cells',
    ],
    [
      `${graph}resources:\n  - [Person:ann, drive, {}, [c1]]\n`,
      'w:4:5: the resource type is not clear (no policy for Person names the action `drive`): add {type',
    ],
    [`${graph}policies:\n  - {subject: Person}\n`, 'w:4:5: policies[0].actions: expected array, found nothing'],
    ['graph: (a', 'w:1:10: graph: `)` is expected'],
  ])('refuses %j', (text, message) => {
    expect(() => readScenario('w', text)).toThrow(message)
  })
})

describe('capture bodies', () => {
  it('keep the point of a float and every digit of an integer', () => {
    expect(exactJson({ a: 4, b: 4n, c: [9007199254740993n, 0.5], d: 'x', e: new Map([['f', null]]) })).toBe(
      '{"a":4.0,"b":4,"c":[9007199254740993,0.5],"d":"x","e":{"f":null}}',
    )
  })

  it('contain at most 250 items each', () => {
    const text = Array.from({ length: 251 }, (_, index) => `(n${index}:Node)`).join('\n')
    const { nodes, relationships } = captureBodies(readGraph(`${text}\n(n0)-[:R {w: 1}]->(n1)`))
    expect(nodes.map((body) => JSON.parse(body).nodes.length)).toEqual([250, 1])
    expect(JSON.parse(relationships[0] as string).relationships).toEqual([
      {
        source: { external_id: 'n0', type: 'Node' },
        target: { external_id: 'n1', type: 'Node' },
        type: 'R',
        properties: [{ type: 'w', value: 1 }],
      },
    ])
  })
})
