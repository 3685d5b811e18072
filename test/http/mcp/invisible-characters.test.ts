// Texts of a server that a model reads contain no invisible characters.
import { expect, it } from 'vitest'
import { errorResponse, resultResponse } from '../../../src/mcp/json-rpc.ts'

const hidden = 'Read me\u202e\u200b\u{e0041}\u009b'
const shown = 'Read me\\u202e\\u200b\\udb40\\udc41\\u009b'

it('names and descriptions of a result have escapes', () => {
  const { text } = resultResponse(1, { resources: [{ title: hidden, description: hidden }] })
  expect(JSON.parse(text).result.resources).toEqual([{ title: shown, description: shown }])
})

it('messages of errors have escapes', () => {
  expect(JSON.parse(errorResponse(200, 1, { code: 1, message: hidden }).text).error.message).toBe(shown)
})

it('names of members have escapes, in results and in the data of errors', () => {
  const schema = { properties: { [hidden]: { type: 'string' } } }
  const expected = { properties: { [shown]: { type: 'string' } } }
  expect(JSON.parse(resultResponse(1, { tools: [{ inputSchema: schema }] }).text).result.tools).toEqual([
    { inputSchema: expected },
  ])
  const error = { code: 1, message: 'refused', data: { uri: hidden, schema } }
  expect(JSON.parse(errorResponse(200, 1, error).text).error.data).toEqual({ uri: shown, schema: expected })
})
