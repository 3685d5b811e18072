// Declared types in the text of a model: what is read, and what is refused with its place.
import { describe, expect, test } from 'vitest'
import { elementNameRule } from '../../../src/kernel/element-rules.ts'
import type { GraphTypes } from '../../../src/model/graph-types.ts'
import { compileModel } from '../../../src/model/project-model.ts'

function typesOf(text: string): GraphTypes {
  const model = compileModel(text)
  if (!model.ok) throw new Error(model.error.map(({ message }) => message).join('; '))
  if (model.value.types === null) throw new Error('the model declares no types')
  return model.value.types
}

/** Each fault as `message @ the text at its place`. */
function faultsOf(text: string): readonly string[] {
  const model = compileModel(text)
  if (model.ok) return []
  return model.error.map(({ message, span }) => `${message} @ ${text.slice(span.start, span.end)}`)
}

const EXAMPLE = `(:User {email STRING NOT NULL, clearance INTEGER}),
(:Group),
(:User&Admin {level :: INTEGER | FLOAT, tags TYPED LIST<STRING>}),
(:User|Group)-[:MEMBER {until ZONED DATETIME}]->(:Group),
(:Group)<-[:LEADS|:OWNS]-(:User)`.replace('|:OWNS', '|OWNS')

describe('declared types', () => {
  test('are node types with exactly their labels, and relationship types between them', () => {
    const types = typesOf(EXAMPLE)
    expect(types.mode).toBe('open')
    expect(types.nodes.map(({ text }) => text)).toEqual(['(:User)', '(:Group)', '(:User&Admin)'])
    expect([...types.nodes[0]!.properties.values()].map((one) => [one.name, one.text, one.isRequired])).toEqual([
      ['email', 'STRING NOT NULL', true],
      ['clearance', 'INTEGER', false],
    ])
    expect([...types.nodes[2]!.properties.values()].map(({ text }) => text)).toEqual([
      'INTEGER | FLOAT',
      'LIST<STRING>',
    ])
    expect(types.relationships.map(({ text }) => text)).toEqual([
      '(:User|Group)-[:MEMBER]->(:Group)',
      '(:User)-[:LEADS]->(:Group)',
      '(:User)-[:OWNS]->(:Group)',
    ])
    // A pattern `(:User)` matches nodes that have more labels, and so does the end of a relationship type.
    expect([...types.relationships[1]!.sources].map(({ text }) => text)).toEqual(['(:User)', '(:User&Admin)'])
    expect(types.nodeType(new Set(['Admin', 'User']))?.text).toBe('(:User&Admin)')
    expect(types.nodeType(new Set(['Admin']))).toBeNull()
  })

  test('begin with the mode of captures, before the definitions', () => {
    expect(typesOf('CLOSED (:User)').mode).toBe('closed')
    expect(typesOf('open (:User)').mode).toBe('open')
    const model = compileModel(
      'CLOSED (:User), (:User)-[:KNOWS]->(:User);\nDEFINE (a:User)-[:near]->(b:User) AS { MATCH (a)-[:KNOWS]->(b) }',
    )
    expect(model.ok && [model.value.types?.mode, model.value.definitions?.names]).toEqual(['closed', ['near']])
    expect(typesOf('(:open {open STRING}), ()-[:closed]->(:open)').symbolNames('type')).toEqual(new Set(['closed']))
  })

  test('have names with separators, in backticks', () => {
    const types = typesOf('(:`tenant/doc`&`v1.Doc`), (:P), (:P)-[:`part-of`]->(:`tenant/doc`&`v1.Doc`)')
    expect(types.nodes.map(({ text }) => text)).toEqual(['(:`tenant/doc`&`v1.Doc`)', '(:P)'])
    expect(types.relationships.map(({ text }) => text)).toEqual(['(:P)-[:`part-of`]->(:`tenant/doc`&`v1.Doc`)'])
  })

  test('are optional', () => {
    const model = compileModel('DEFINE (a)-[:near]->(b) AS { MATCH (a)-[:KNOWS]->(b) }')
    expect(model.ok && model.value.types).toBeNull()
  })

  test.each([
    ['CLOSED', 'unexpected end of the model, expected a type such as `(:User)` @ '],
    ['(:User) (:Group)', 'unexpected `(`, expected `,`, `DEFINE` or the end of the model @ ('],
    ['()', 'a node type needs a label @ ()'],
    ['(u:User)', 'unexpected `u`, expected `)` @ u'],
    ['(:User {email})', 'unexpected `}`, expected a type such as `INTEGER` @ }'],
    ['(:User {email STRNG})', 'unknown type `STRNG`; did you mean `STRING`? @ STRNG'],
    ['(:User {email STRING = 1})', 'unexpected `=`, expected `,` or `}` @ ='],
    ['(:User {at POINT})', 'a property cannot have the type `POINT`: values have no points @ POINT'],
    ['(:User {a LIST<LIST<STRING>>})', 'a list of lists cannot be a property @ LIST<LIST<STRING>>'],
    ['(:User {a STRING, a STRING})', 'the property `a` is declared twice @ a'],
    ['(:User {id STRING})', '`id` is a field of every element and not a property: remove it @ id'],
    ['(:User), (:User {a STRING})', 'the node type `(:User)` is declared twice: join both declarations @ User'],
    ['(:`a..b`)', `a label is ${elementNameRule} @ \`a..b\``],
    ['(:`a-b`), (:`a-b`)-[:K]->(:`a-c`)', 'no node type has the label `a-c`; did you mean `a-b`? @ `a-c`'],
    ['(:User&User)', 'the label `User` is repeated @ User'],
    ['(:_Application)', 'names that begin with `_` belong to the service and are not declared @ _Application'],
    ['(:User), (:User)-[:KNOWS]->(:Usr)', 'no node type has the label `Usr`; did you mean `User`? @ Usr'],
    [
      '(:User), (:Team), (:User)-[:IN]->(:User&Team)',
      'no node type has all these labels: declare `(:User&Team)` @ User&Team',
    ],
    ['(:User), (:User)-[:KNOWS]-(:User)', 'a relationship type has a direction @ -'],
    [
      '(:User), (:User {a STRING})-[:KNOWS]->(:User)',
      'the properties of a node belong to its node type, in an item of its own: `(:User {email STRING})` @ a STRING',
    ],
    [
      '(:User), (:User)-[:K]->(:User), (:User)-[:K]->(:User)',
      'the relationship type `(:User)-[:K]->(:User)` is declared twice: join both declarations @ K',
    ],
    [
      '(:U), (:U)-[:k]->(:U) DEFINE (a)-[:k]->(b) AS { MATCH (a)-[:x]->(b) }',
      '`k` is a definition, so it cannot be a declared relationship type too @ k',
    ],
  ])('refuse %s', (text, fault) => {
    expect(faultsOf(text)[0]).toBe(fault)
  })

  test('are compared with the definitions of the model', () => {
    const text = `(:User), (:Doc {level INTEGER}), (:User)-[:OWNER]->(:Doc)
DEFINE (u:User)-[:can_view]->(d:Doc) AS { MATCH (u)-[:OWNR]->(d) WHERE d.levl > 1 }`
    expect(faultsOf(text)).toEqual([
      'the model declares no relationship of type `OWNR`; did you mean `[:OWNER]`? @ OWNR',
      'the model declares no property `levl`; did you mean `level`? @ levl',
    ])
  })
})
