// The generated graph of a bench: its questions are right by the lines that are imported.
import { expect, test } from 'vitest'
import { generateGraph, generateQuestions, importLines } from '../../../../src/cli/bench/generated-graph.ts'

interface ImportLine {
  readonly node?: { readonly external_id: string; readonly properties?: readonly { readonly value: number }[] }
  readonly relationship?: {
    readonly source: { readonly external_id: string }
    readonly type: string
    readonly target: { readonly external_id: string }
  }
}

test('half of the questions are granted, and the expected decisions are those of the imported lines', () => {
  const graph = generateGraph(500, 7)
  const lines = Array.from(importLines(graph), (line) => JSON.parse(line) as ImportLine)
  const levels = new Map<string, number | undefined>()
  const edges = new Map<string, string[]>()
  for (const { node, relationship } of lines) {
    if (node !== undefined) levels.set(node.external_id, node.properties?.[0]?.value)
    if (relationship === undefined) continue
    const key = `${relationship.type} ${relationship.source.external_id}`
    edges.set(key, [...(edges.get(key) ?? []), relationship.target.external_id])
  }
  expect(levels.size).toBe(500)
  expect([...edges.values()].flat()).toHaveLength(2500)
  const to = (type: string, from: string): readonly string[] => edges.get(`${type} ${from}`) ?? []
  const questions = generateQuestions(graph, 300, ['open', 'read', 'clear'])
  const may = ({ subject, action, resource }: (typeof questions)[number]['request']): boolean => {
    if (action.name === 'open') return to('OWNS', subject.id).includes(resource.id)
    if (action.name === 'read')
      return to('MEMBER', subject.id).some((group) => to('MAY_READ', group).includes(resource.id))
    return levels.get(subject.id)! >= levels.get(resource.id)!
  }
  expect(questions.map(({ request }) => may(request))).toEqual(questions.map(({ expected }) => expected))
  expect(questions.filter(({ expected }) => expected)).toHaveLength(150)
})

test('the same seed gives the same graph and questions, and another one does not', () => {
  const made = (seed: number): string => {
    const graph = generateGraph(200, seed)
    return JSON.stringify([...importLines(graph), generateQuestions(graph, 20, ['read'])])
  }
  expect(made(3)).toBe(made(3))
  expect(made(3)).not.toBe(made(4))
})
