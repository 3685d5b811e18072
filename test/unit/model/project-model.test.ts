// Compiles models of projects.
import { describe, expect, test } from 'vitest'
import { compileModel, type ProjectModel } from '../../../src/model/project-model.ts'

function compiled(text: string): ProjectModel {
  const model = compileModel(text)
  if (!model.ok) throw new Error(model.error[0]?.message)
  return model.value
}

describe('the model of a project', () => {
  test('has its text and the names of its definitions', () => {
    const text = 'DEFINE (u:User)-[:in]->(g:Group) AS { MATCH (u)-[:MEMBER]->(g) }'
    const model = compiled(text)
    expect(model.text).toBe(text)
    expect(model.definitions?.names).toEqual(['in'])
  })

  test('has no definitions if the text has none', () => {
    expect(compiled('').definitions).toBeNull()
  })

  test('is refused with the place of each problem', () => {
    const text = 'DEFINE (u:User)-[:in]->(g:Group) AS { MATCH (u)-[:MEMBER]->(g) WHERE u.age > limit }'
    const model = compileModel(text)
    expect(model.ok ? [] : model.error.map(({ span }) => text.slice(span.start, span.end))).toEqual(['limit'])
  })
})
