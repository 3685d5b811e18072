// The arguments with which the console begins to try a tool.
import { expect, test } from 'vitest'
import { exampleOf } from '../../../../src/console/page/operate/mcp-client.ts'

const entity = {
  type: 'object',
  properties: { type: { type: 'string' }, id: { type: 'string' } },
  required: ['type', 'id'],
}

test('are the required ones', () => {
  const properties = { id: { type: 'string' }, count: { type: 'integer' }, other: entity }
  expect(exampleOf({ type: 'object', properties, required: ['id', 'count'] })).toEqual({ id: '', count: 1 })
})

test('are the structured ones of a tool that requires none, also in lists', () => {
  const properties = {
    subject: entity,
    subject_type: { type: 'string' },
    context: { type: 'object', properties: { tags: { type: 'array', items: { type: 'string' } } } },
    evaluations: { type: 'array', items: entity },
  }
  expect(exampleOf({ type: 'object', properties })).toEqual({
    subject: { type: '', id: '' },
    evaluations: [{ type: '', id: '' }],
  })
  expect(exampleOf({ type: 'object', properties: { name: { type: 'string' } } })).toEqual({})
})
