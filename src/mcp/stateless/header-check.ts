// The headers of version 2026-07-28 repeat method and name of the body, for proxies that route by them. A difference is
// refused, so that a proxy and the server never decide by different values.
import { decodeUtf8 } from '../../kernel/text/utf8.ts'
import type { RpcObject } from '../json-rpc.ts'

/** Methods with the header `Mcp-Name`, and the parameter that it repeats. */
const nameParameters: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
])

/** Returns how the headers differ from the body; null if they agree. */
export function headerMismatch(
  header: (name: string) => string | null,
  method: string,
  params: RpcObject,
): string | null {
  const mcpMethod = header('mcp-method')
  if (mcpMethod === null) return 'the header Mcp-Method is missing'
  if (mcpMethod.trim() !== method) return 'the header Mcp-Method differs from the method of the body'
  const member = nameParameters.get(method)
  if (member === undefined) return null
  const name = header('mcp-name')
  if (name === null) return 'the header Mcp-Name is missing'
  const decoded = decodeHeader(name.trim())
  if (decoded === null || decoded !== params[member]) return `the header Mcp-Name differs from params.${member}`
  return null
}

const ENCODED_VALUE = /^=\?base64\?(.*)\?=$/
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Decodes `=?base64?…?=`; null if the encoding is invalid. */
function decodeHeader(value: string): string | null {
  const encoded = ENCODED_VALUE.exec(value)?.[1]
  if (encoded === undefined) return value
  if (!BASE64.test(encoded)) return null
  return decodeUtf8(Buffer.from(encoded, 'base64'))
}
