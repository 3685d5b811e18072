// The AsyncAPI description of the events (`npm run reference`) is valid.
import asyncApiSpecs from '@asyncapi/specs'
import Ajv from 'ajv'
import addFormats from 'ajv-formats'
import { describe, expect, test } from 'vitest'
import packageJson from '../../../package.json' with { type: 'json' }
import { eventTypeNames } from '../../../src/events/event-types.ts'
import { asyncApiDocument, payloadJsonSchema } from '../../docs/asyncapi.ts'

/** `hasOwnDialect`: the schema contains the schema of its dialect, which must not be defined twice. */
function validator(hasOwnDialect = false): Ajv {
  const ajv = new Ajv({
    strict: false,
    allErrors: true,
    logger: false,
    meta: !hasOwnDialect,
    validateSchema: !hasOwnDialect,
  })
  addFormats(ajv)
  return ajv
}

describe('the AsyncAPI description', () => {
  const document = asyncApiDocument(packageJson.version)

  test('is valid by the official schema of AsyncAPI 3.0', () => {
    const validate = validator(true).compile(asyncApiSpecs.schemas['3.0.0'] as object)
    validate(document)
    expect(validate.errors).toBeNull()
    const broken = { ...document, channels: { events: { messages: 7 } } }
    expect(validate(broken)).toBe(false)
  })

  test('has a message for each event type, whose payload schema is valid JSON Schema', () => {
    const { components } = document as { components: { messages: Record<string, { payload: object }> } }
    expect(Object.keys(components.messages)).toEqual([...eventTypeNames])
    const ajv = validator()
    for (const type of eventTypeNames) {
      const validate = ajv.compile(payloadJsonSchema(type))
      expect(validate({ eventType: type }), type).toBe(false)
      expect(validate({ eventType: 'another', version: 1 }), type).toBe(false)
    }
  })
})
