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
