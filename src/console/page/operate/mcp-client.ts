// Calls of the MCP server of a project through its public endpoint, with the rights of the session.
import { ApiError, call } from '../api.ts'

/** A tool, as the server lists it. */
export interface ListedTool {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly inputSchema: ToolSchema
}

/** The part of a JSON schema that examples are made of. */
interface ToolSchema {
  readonly type?: string
  readonly properties?: Readonly<Record<string, ToolSchema>>
  readonly required?: readonly string[]
  readonly enum?: readonly unknown[]
  readonly items?: ToolSchema
  readonly anyOf?: readonly ToolSchema[]
  readonly default?: unknown
}

/** The result of a call. */
export interface ToolAnswer {
  readonly isError?: boolean
  readonly structuredContent?: unknown
  readonly content: readonly { readonly text?: string }[]
}

interface RpcAnswer<T> {
  readonly result?: T
  readonly error?: { readonly message: string }
}

const VERSION = '2026-07-28'
const META = 'io.modelcontextprotocol'

/** The path of the server of a project. */
export function serverPath(projectId: string): string {
  // As the service prints it.
  return `/mcp/v1/${encodeURIComponent(projectId).replaceAll('%3A', ':')}`
}

/** The tools of the server. Rejects as `call` does. */
export async function listTools(projectId: string, signal: AbortSignal): Promise<readonly ListedTool[]> {
  const tools: ListedTool[] = []
  let cursor: string | undefined
  do {
    const page: { readonly tools: readonly ListedTool[]; readonly nextCursor?: string } = await request(
      projectId,
      'tools/list',
      cursor === undefined ? {} : { cursor },
      signal,
    )
    tools.push(...page.tools)
    cursor = page.nextCursor
  } while (cursor !== undefined)
  return tools
}

/** Calls a tool. Rejects as `call` does. */
export function callTool(projectId: string, name: string, args: unknown): Promise<ToolAnswer> {
  return request(projectId, 'tools/call', { name, arguments: args })
}

async function request<T>(projectId: string, method: string, params: object, signal?: AbortSignal): Promise<T> {
  const { name } = params as { readonly name?: string }
  const _meta = {
    [`${META}/protocolVersion`]: VERSION,
    [`${META}/clientInfo`]: { name: 'verdigraph-console', version: '1' },
    [`${META}/clientCapabilities`]: {},
  }
  const answer = await call<RpcAnswer<T>>('POST', serverPath(projectId), {
    project: projectId,
    headers: {
      'mcp-protocol-version': VERSION,
      'mcp-method': method,
      ...(name !== undefined && { 'mcp-name': name }),
    },
    body: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } },
    ...(signal !== undefined && { signal }),
  })
  if (answer.result === undefined) throw new ApiError(200, answer.error?.message ?? 'The answer has no result.', [])
  return answer.result
}

/**
 * Arguments to begin with: the required ones, with values that only have the right type. A tool that requires none, because it takes them in
 * several forms, begins with its structured ones.
 */
export function exampleOf(schema: ToolSchema): unknown {
  if (schema.default !== undefined) return schema.default
  if (schema.enum !== undefined) return schema.enum[0]
  if (schema.anyOf !== undefined) return exampleOf(schema.anyOf[0] ?? {})
  switch (schema.type) {
    case 'object':
      return Object.fromEntries(namesToShow(schema).map((name) => [name, exampleOf(schema.properties?.[name] ?? {})]))
    case 'array':
      return schema.items === undefined ? [] : [exampleOf(schema.items)]
    case 'number':
    case 'integer':
      return 1
    case 'boolean':
      return false
    default:
      return ''
  }
}

function namesToShow({ required = [], properties = {} }: ToolSchema): readonly string[] {
  if (required.length > 0) return required
  return Object.keys(properties).filter((name) => needsMembers(properties[name] ?? {}))
}

/** Whether a value of the schema has members that it must have; of a list, its items. */
function needsMembers({ type, required = [], items }: ToolSchema): boolean {
  return type === 'array' ? items !== undefined && needsMembers(items) : required.length > 0
}
