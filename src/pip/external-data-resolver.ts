// The configuration kind of external data resolvers: which address is called for a value, how, and which part of the
// response is the value.
import { z } from 'zod'
import { defineKind, field } from '../config/define-kind.ts'
import { type ConfigKind, type DocumentFields, resolversKind } from '../config/kind.ts'
import { err, ok } from '../kernel/result.ts'
import type { Upstream } from '../upstream/client.ts'
import { parseSelector } from './response-selector.ts'
import { readPayloadTemplate, readUrlTemplate, sampleUrl } from './template.ts'

const methods = ['GET', 'POST', 'PUT', 'PATCH'] as const
const contentTypes = ['JSON'] as const
const method = z.enum(methods).meta({ id: 'ResolverMethod' })
const contentType = z.enum(contentTypes).meta({ id: 'ResolverContentType' })

const url = z
  .string()
  .min(1)
  .max(2048)
  .superRefine((text, context) => {
    const template = readUrlTemplate(text)
    if (!template.ok) context.addIssue({ code: 'custom', message: template.error })
  })
  .describe('a URL with placeholders `{$name}` or `{$name || default}` in path and query; the default may be quoted')

/** A line break in a value would end the header and begin another one. */
const headerValue = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[\t\x20-\x7e\x80-\xff]*$/, { error: 'expected Latin-1 text without control characters' })
  // Placeholders are not replaced in headers.
  .refine((text) => !/\{\$[\p{L}_]/u.test(text), { error: 'a header cannot contain a placeholder' })

const headerName = z.string().regex(/^[A-Za-z0-9-]{1,128}$/, { error: 'expected letters, digits and hyphens' })
const headerValues = z.array(headerValue).min(1).max(32)

const documentedValue = z
  .union([z.string().max(255), z.array(z.string().max(255)).min(1).max(32)])
  .meta({ id: 'HeaderValue' })

/** One documented schema for all three: values that are sent, values that are kept, and values that are read. */
const documentedHeaders = z.record(headerName, documentedValue).meta({
  id: 'ResolverHeaders',
  description:
    'Values by header. In responses, each value is an empty string, which keeps the stored value in an update.',
})

const headers = z
  .record(
    headerName,
    z.union([headerValue, headerValues], { error: 'expected a string of 1 to 255 characters or an array of these' }),
  )
  .meta({ documentedAs: documentedHeaders })

const selector = z
  .string()
  .min(1)
  .max(255)
  .superRefine((text, context) => {
    const parsed = parseSelector(text)
    if (!parsed.ok) context.addIssue({ code: 'custom', message: parsed.error })
  })

const payload = z
  .string()
  .max(65_000)
  .superRefine((text, context) => {
    const template = readPayloadTemplate(text)
    if (!template.ok) context.addIssue({ code: 'custom', message: template.error })
  })
  .describe('JSON with placeholders as in `url`, inside strings and outside')

/** Returns the kind. `upstream` decides which addresses may be called. */
export function externalDataResolvers(upstream: Pick<Upstream, 'urlError'>): ConfigKind {
  return defineKind({
    path: resolversKind,
    label: 'external data resolver',
    fields: {
      url: field(url).required(),
      method: field(method).required(),
      // Header values are often API keys of the called service (docs/decisions/0013-secrets.md).
      headers: field(headers)
        .secret({ at: '*', sentTo: ['url'] })
        .default({}),
      request_content_type: field(contentType).required(),
      request_payload: field(payload).default(''),
      response_content_type: field(contentType).required(),
      response_selector: field(selector).required(),
    },
    check(fields) {
      const error = upstream.urlError(sampleUrl(fields.url as string))
      const issues = [...(error === null ? [] : [`url: ${error}`]), ...missingHeaderValues(fields)]
      return issues.length === 0 ? ok({ fields }) : err({ kind: 'invalid', issues })
    },
  })
}

/** Reports a mask for a header without a stored value: a mask must not become a value. */
function missingHeaderValues({ headers = {} }: DocumentFields): string[] {
  return Object.entries(headers as DocumentFields)
    .filter(([, value]) => [value].flat().includes(''))
    .map(([name]) => `headers.${name}: expected a value, found an empty string, and no value is stored`)
}
