// The configuration kind of external data resolvers: which address is called for a value, how, and which part of the
// response is the value.
import { z } from 'zod'
import {
  type ConfigKind,
  type DocumentFields,
  envelope,
  envelopeUpdate,
  projectsKind,
  reference,
  resolversKind,
} from '../config/kind.ts'
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
  .refine((text) => !/\{\$[A-Za-z_]/.test(text), { error: 'a header cannot contain a placeholder' })

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

/** The mask of a header value in responses. In an update it keeps the stored value: an empty string, or a list of them. */
const mask = z.union([z.literal(''), z.array(z.literal('')).min(1).max(32)])

const headersUpdate = z
  .record(
    headerName,
    z.union([headerValue, headerValues, mask], {
      error: 'expected a string of 1 to 255 characters or an array of these, or empty strings to keep the stored value',
    }),
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
  return {
    path: resolversKind,
    label: 'external data resolver',
    parent: { field: 'project_id', kind: projectsKind },
    operations: { create: true, update: true, delete: true, byName: true },
    createSchema: z.strictObject({
      ...envelope,
      project_id: reference,
      url,
      method,
      headers: headers.nullish(),
      request_content_type: contentType,
      request_payload: payload.nullish(),
      response_content_type: contentType,
      response_selector: selector,
    }),
    updateSchema: z.strictObject({
      ...envelopeUpdate,
      url: url.nullish(),
      method: method.nullish(),
      headers: headersUpdate.nullish(),
      request_content_type: contentType.nullish(),
      request_payload: payload.nullish(),
      response_content_type: contentType.nullish(),
      response_selector: selector.nullish(),
    }),
    readShape: {
      url: z.string(),
      method,
      headers: z.record(z.string(), mask).meta({ documentedAs: documentedHeaders }),
      request_content_type: contentType,
      request_payload: z.string(),
      response_content_type: contentType,
      response_selector: z.string(),
    },
    // Header values are often API keys of the called service (docs/decisions/0013-secrets.md).
    secrets: ['headers.*'],
    secretDestinations: { 'headers.*': ['url'] },
    omittedInLists: [],
    defaults: { headers: {}, request_payload: '' },
    check(fields) {
      const error = upstream.urlError(sampleUrl(fields.url as string))
      const issues = [...(error === null ? [] : [`url: ${error}`]), ...missingHeaderValues(fields)]
      return issues.length === 0 ? ok({ fields }) : err({ kind: 'invalid', issues })
    },
  }
}

/** Reports a mask for a header without a stored value: a mask must not become a value. */
function missingHeaderValues({ headers = {} }: DocumentFields): string[] {
  return Object.entries(headers as DocumentFields)
    .filter(([, value]) => [value].flat().includes(''))
    .map(([name]) => `headers.${name}: expected a value, found an empty string, and no value is stored`)
}
