// The methods `tools/list` and `tools/call`. A tool calls the same feature as the HTTP API, as the configured agent for the
// holder of the token. An error of the feature becomes a result with `isError` and a text.
import { type ServiceError, ThrownServiceError } from '../kernel/errors.ts'
import { writeJson } from '../kernel/json/json.ts'
import { isJsonObject, jsonKindOf } from '../kernel/json/json-kind.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { escapeInvisible } from '../kernel/text/invisible-characters.ts'
import { errorText } from './error-text.ts'
import { invalidParams, type RpcObject } from './json-rpc.ts'
import type { McpCaller, McpDeps, McpMethod, MethodResult } from './method.ts'
import { paginate } from './pagination.ts'
import { decisionTools } from './tools/decision-tools.ts'
import { explainTool } from './tools/explain-tool.ts'
import { queryTool } from './tools/query-tool.ts'
import type { Tool, ToolOutput } from './tools/tool.ts'

/** All tools. */
export const tools: readonly Tool[] = [...decisionTools, explainTool, queryTool]
const toolsByName = new Map(tools.map((tool) => [tool.name, tool]))

const sortedTools = tools.toSorted((a, b) => (a.name < b.name ? -1 : 1))

const listed = ({ name, title, description, inputSchema, outputSchema, annotations }: Tool) => {
  return { name, title, description, inputSchema, outputSchema, annotations: { title, ...annotations } }
}

/** The method `tools/list`. */
export const listTools: McpMethod = (deps, _caller, params) => {
  const page = paginate('tools', sortedTools, ({ name }) => name, params, deps.pageMax)
  return page.ok ? ok({ tools: page.value.entries.map(listed), ...page.value.next }) : page
}

/** The method `tools/call`. */
export const callTool: McpMethod = (deps, caller, params) => {
  const { name, arguments: args = {} } = params
  if (typeof name !== 'string') return invalidParams(`name: expected string, found ${jsonKindOf(name)}`)
  const tool = toolsByName.get(name)
  if (tool === undefined) {
    return invalidParams(`unknown tool \`${name.slice(0, 64)}\`, expected one of ${[...toolsByName.keys()].join(', ')}`)
  }
  if (!isJsonObject(args)) return invalidParams(`arguments: expected object, found ${jsonKindOf(args)}`)
  const called = runTool(deps, caller, tool, args)
  return called instanceof Promise
    ? called.then((done) => toMethodResult(done, caller))
    : toMethodResult(called, caller)
}

type ToolResult = Result<ToolOutput, ServiceError>

function runTool(deps: McpDeps, caller: McpCaller, tool: Tool, args: RpcObject): ToolResult | Promise<ToolResult> {
  const { agent, origin } = caller
  if (agent === null)
    return forbidden('the application agent of this MCP server was deleted: its configuration must name another one')
  for (const permission of tool.also === undefined ? [tool.permission] : [tool.permission, tool.also]) {
    if (agent.permissions.has(permission)) continue
    if (agent.account !== undefined) return forbidden(`the role of the service account does not include ${permission}`)
    return forbidden(`the application agent of this MCP server lacks the permission ${permission}`)
  }
  for (const name in args) {
    if (Object.hasOwn(tool.inputSchema.properties, name)) continue
    const known = Object.keys(tool.inputSchema.properties).join(', ')
    const issue = `unknown argument \`${name.slice(0, 64)}\`, expected one of ${known}`
    return err({ kind: 'malformed', issues: [issue] })
  }
  try {
    const called = tool.call(deps, agent, origin, args)
    return called instanceof Promise ? called.catch(toToolError) : called
  } catch (error) {
    return toToolError(error)
  }
}

function forbidden(message: string): ToolResult {
  return err({ kind: 'forbidden', message })
}

/** Converts a ThrownServiceError to an error result. Rethrows errors that must be reported to the operator. */
function toToolError(error: unknown): ToolResult {
  if (error instanceof ThrownServiceError && !error.needsLogging) return err(error.error)
  throw error
}

function toMethodResult(called: ToolResult, { server }: McpCaller): MethodResult {
  if (called.ok) {
    const { structured, hint } = called.value
    // Hot path: the result is serialized once and used twice. As JSON, the escapes have the same value; a model sees them in the text.
    const text = escapeInvisible(writeJson(structured))
    const more = hint === undefined ? '' : `,{"type":"text","text":${JSON.stringify(escapeInvisible(hint))}}`
    const content = `[{"type":"text","text":${JSON.stringify(text)}}${more}]`
    return ok({ serialized: `"content":${content},"structuredContent":${text}` })
  }
  const { error } = called
  const step = error.kind === 'step-up' ? error.advice.find((one) => one.error === 'insufficient_scope') : undefined
  // Clients handle this error themselves: they request a token with more scopes from the issuer.
  if (step !== undefined) {
    return { ok: false, httpError: { kind: 'step-up', advice: [{ scope: server.scopes.join(' '), ...step }] } }
  }
  return ok({ content: [{ type: 'text', text: errorText(error) }], isError: true })
}
