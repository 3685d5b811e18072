// JSON-RPC 2.0 as MCP uses it: what a message is, and how answers and errors are written. Both revisions share it.

import { writeJson } from '../kernel/json.ts'
import { isJsonObject, jsonKindOf } from '../kernel/json-kind.ts'
import { err, ok, type Result } from '../kernel/result.ts'

export type RpcId = string | number | bigint
export type RpcObject = Readonly<Record<string, unknown>>

export interface RpcError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

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

export type RpcMessage =
  | { readonly kind: 'request'; readonly id: RpcId; readonly method: string; readonly params: RpcObject }
  | { readonly kind: 'notification'; readonly method: string; readonly params: RpcObject }
  /** To a request of the server; this one sends none. */
  | { readonly kind: 'response' }

/** An answer before HTTP: `text` is JSON, empty where there is none or `live` is in its place. */
export interface RpcAnswer {
  readonly status: number
  readonly text: string
  /** Events. */
  readonly live?: AsyncIterator<string, void>
  readonly headers?: Readonly<Record<string, string>>
}

const emptyParams: RpcObject = Object.freeze({})

export function readMessage(body: unknown): Result<RpcMessage, RpcError> {
  if (Array.isArray(body)) return invalid('batches are not taken: send one message in a request')
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

/** What can be told of the id of a message that is none. */
export function idIn(body: unknown): RpcId | null {
  return isJsonObject(body) && isId(body.id) ? body.id : null
}

function isId(id: unknown): id is RpcId {
  return typeof id === 'string' || typeof id === 'bigint' || Number.isSafeInteger(id)
}

function invalid(message: string): Result<never, RpcError> {
  return err({ code: rpcCodes.invalidRequest, message })
}

export function invalidParams(message: string, data?: unknown): Result<never, RpcError> {
  return err({ code: rpcCodes.invalidParams, message, ...(data === undefined ? {} : { data }) })
}

export function resultResponse(id: RpcId, result: unknown, headers?: Readonly<Record<string, string>>): RpcAnswer {
  return { ...serializedResponse(id, writeJson(result)), ...(headers === undefined ? {} : { headers }) }
}

/** `result` is JSON. */
export function serializedResponse(id: RpcId, result: string): RpcAnswer {
  const written = typeof id === 'string' ? JSON.stringify(id) : String(id)
  return { status: 200, text: `{"jsonrpc":"2.0","id":${written},"result":${result}}` }
}

/** Without an id where none is known: the schema of both revisions knows no null. */
export function errorResponse(status: number, id: RpcId | null, error: RpcError): RpcAnswer {
  return { status, text: writeJson({ jsonrpc: '2.0', ...(id === null ? {} : { id }), error }) }
}

/** A message as an event of a stream; `text` is JSON, which has no line breaks. */
export function toEvent(text: string): string {
  return `event: message\ndata: ${text}\n\n`
}

export function notificationEvent(method: string, params?: RpcObject): string {
  return toEvent(writeJson({ jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }) }))
}

export const accepted: RpcAnswer = { status: 202, text: '' }
