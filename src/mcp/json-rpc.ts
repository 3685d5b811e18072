// JSON-RPC 2.0 as MCP uses it: parses messages, and writes results, errors and events. Both protocol versions use it.

import type { ServiceError } from '../kernel/errors.ts'
import { writeJson } from '../kernel/json/json.ts'
import { isJsonObject, jsonKindOf } from '../kernel/json/json-kind.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { escapeInvisibleIn } from '../kernel/text/invisible-characters.ts'

/** The id of a request. Big integers are kept exactly. */
export type RpcId = string | number | bigint
/** A JSON object. */
export type RpcObject = Readonly<Record<string, unknown>>

/** A JSON-RPC error object. */
export interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** Error codes of JSON-RPC 2.0 and of MCP. */
export const rpcCodes = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  resourceNotFound: -32002,
  sessionNotFound: -32001,
  headerMismatch: -32020,
  unsupportedVersion: -32022,
} as const

/** A message from a client. */
export type RpcMessage =
  | { readonly kind: 'request'; readonly id: RpcId; readonly method: string; readonly params: RpcObject }
  | { readonly kind: 'notification'; readonly method: string; readonly params: RpcObject }
  /** A response to a request of the server. This server sends no requests. */
  | { readonly kind: 'response' }

/** An HTTP response of the endpoint. It has the shape of a route response, so the route returns it unchanged. */
export interface RpcResponse {
  readonly status: number
  /** JSON; empty if there is no body or `stream` replaces it. */
  readonly text: string
  /** Server-sent events. */
  readonly stream?: AsyncIterator<string, void>
  readonly headers?: Readonly<Record<string, string>>
  /** The JSON-RPC code of an error, or `tool` for the error of a tool, whose status may be 200. Absent: no error. */
  readonly failure?: string
}

/** A response, or an error that HTTP answers with its own status and body. */
export type McpResult = Result<RpcResponse, ServiceError>

const emptyParams: RpcObject = Object.freeze({})

/** Parses a body as one JSON-RPC message. Errors: `rpcCodes.invalidRequest`. */
export function readMessage(body: unknown): Result<RpcMessage, RpcError> {
  if (Array.isArray(body)) return invalid('batches are not supported: send one message per request')
  if (!isJsonObject(body)) return invalid(`expected a JSON-RPC object, found ${jsonKindOf(body)}`)
  const { jsonrpc, id, method, params = emptyParams } = body
  if (jsonrpc !== '2.0') return invalid('jsonrpc: expected "2.0"')
  if (method === undefined && ('result' in body || 'error' in body)) return ok({ kind: 'response' })
  if (typeof method !== 'string') return invalid(`method: expected string, found ${jsonKindOf(method)}`)
  if (!isJsonObject(params)) return invalid(`params: expected object, found ${jsonKindOf(params)}`)
  if (id === undefined) return ok({ kind: 'notification', method, params })
  if (!isId(id)) return invalid('id: expected a string or an integer')
  return ok({ kind: 'request', id, method, params })
}

/** The id of a body that is not a valid message, if it has one. */
export function idIn(body: unknown): RpcId | null {
  return isJsonObject(body) && isId(body.id) ? body.id : null
}

function isId(id: unknown): id is RpcId {
  return typeof id === 'string' || typeof id === 'bigint' || Number.isSafeInteger(id)
}

function invalid(message: string): Result<never, RpcError> {
  return err({ code: rpcCodes.invalidRequest, message })
}

/** An error with the code `invalidParams`. */
export function invalidParams(message: string, data?: unknown): Result<never, RpcError> {
  return err({ code: rpcCodes.invalidParams, message, ...(data === undefined ? {} : { data }) })
}

/** A response with a result. A model reads its texts: invisible characters of names and descriptions become escapes. */
export function resultResponse(id: RpcId, result: unknown, headers?: Readonly<Record<string, string>>): RpcResponse {
  return {
    ...serializedResponse(id, writeJson(escapeInvisibleIn(result))),
    ...(headers === undefined ? {} : { headers }),
    ...(isJsonObject(result) && result.isError === true && { failure: 'tool' }),
  }
}

/** A response with a result that is JSON text already. */
export function serializedResponse(id: RpcId, result: string): RpcResponse {
  const written = typeof id === 'string' ? JSON.stringify(id) : String(id)
  return { status: 200, text: `{"jsonrpc":"2.0","id":${written},"result":${result}}` }
}

/** An error response. The `id` is absent if it is unknown, because the schema of both versions does not allow null. */
export function errorResponse(status: number, id: RpcId | null, error: RpcError): RpcResponse {
  return {
    status,
    text: writeJson({
      jsonrpc: '2.0',
      ...(id === null ? {} : { id }),
      error: escapeInvisibleIn(error),
    }),
    failure: String(error.code),
  }
}

/** A message as a server-sent event. `text` is JSON without line breaks. */
export function toEvent(text: string): string {
  return `event: message\ndata: ${text}\n\n`
}

/** A notification as a server-sent event. */
export function notificationEvent(method: string, params?: RpcObject): string {
  return toEvent(writeJson({ jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }) }))
}

/** The response to a notification. */
export const accepted: RpcResponse = { status: 202, text: '' }
