// The tools of the endpoint, listed and called. Nothing is decided here: a tool asks the service that HTTP asks, as the
// bound agent and for the holder of the token, and what the service refuses is a result with `isError` and a text.
import { type ServiceError, ServiceFault } from '../kernel/errors.ts'
import { foundName, isJsonObject } from '../kernel/found.ts'
import { writeJson } from '../kernel/json.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { failureText } from './failure-text.ts'
import { pageOf } from './pages.ts'
import type { McpCaller, McpMethod, McpParts, MethodOutcome } from './parts.ts'
import { invalidParams, type Members } from './rpc.ts'
import { decisionTools } from './tools/decision-tools.ts'
import { queryTool } from './tools/query-tool.ts'
import type { Tool, ToolOutcome } from './tools/tool.ts'

const tools: readonly Tool[] = [...decisionTools, queryTool]
const byName = new Map(tools.map((tool) => [tool.name, tool]))

const listed = tools
  .map(({ name, title, description, inputSchema, outputSchema, annotations }) => {
    return { name, title, description, inputSchema, outputSchema, annotations: { title, ...annotations } }
  })
  .sort((a, b) => (a.name < b.name ? -1 : 1))

export const listTools: McpMethod = (parts, _caller, params) => {
  const page = pageOf('tools', listed, ({ name }) => name, params, parts.pageMax)
  return page.ok ? ok({ tools: page.value.entries, ...page.value.next }) : page
}

export const callTool: McpMethod = (parts, caller, params) => {
  const { name, arguments: given = {} } = params
  if (typeof name !== 'string') return invalidParams(`name: expected string, found ${foundName(name)}`)
  const tool = byName.get(name)
  if (tool === undefined) {
    return invalidParams(`unknown tool \`${name.slice(0, 64)}\`, expected one of ${[...byName.keys()].join(', ')}`)
  }
  if (!isJsonObject(given)) return invalidParams(`arguments: expected object, found ${foundName(given)}`)
  const called = run(parts, caller, tool, given)
  return called instanceof Promise ? called.then((done) => outcomeOf(done, caller)) : outcomeOf(called, caller)
}

type Called = Result<ToolOutcome, ServiceError>

function run(parts: McpParts, caller: McpCaller, tool: Tool, given: Members): Called | Promise<Called> {
  const { agent, requestId } = caller
  if (agent === null)
    return refused('the application agent of this MCP server is gone: its configuration must name another')
  if (!agent.permissions.has(tool.permission)) {
    return refused(`the application agent of this MCP server lacks the permission ${tool.permission}`)
  }
  for (const name in given) {
    if (Object.hasOwn(tool.inputSchema.properties, name)) continue
    const known = Object.keys(tool.inputSchema.properties).join(', ')
    const issue = `unknown argument \`${name.slice(0, 64)}\`, expected some of ${known}`
    return err({ kind: 'malformed', issues: [issue] })
  }
  try {
    const called = tool.call(parts, agent, requestId, given)
    return called instanceof Promise ? called.catch(faultOf) : called
  } catch (fault) {
    return faultOf(fault)
  }
}

function refused(message: string): Called {
  return err({ kind: 'forbidden', message })
}

/** What the service gives up on as a whole, it gives up on here too; a fault that the operator must know of goes on. */
function faultOf(fault: unknown): Called {
  if (fault instanceof ServiceFault && !fault.isForOperator) return err(fault.error)
  throw fault
}

function outcomeOf(called: Called, { server }: McpCaller): MethodOutcome {
  if (called.ok) {
    const { structured, hint } = called.value
    // The way of every decision: the answer is written once, and stands in the result twice.
    const text = writeJson(structured)
    const more = hint === undefined ? '' : `,{"type":"text","text":${JSON.stringify(hint)}}`
    const content = `[{"type":"text","text":${JSON.stringify(text)}}${more}]`
    return ok({ written: `"content":${content},"structuredContent":${text}` })
  }
  const { error } = called
  const step = error.kind === 'step-up' ? error.advice.find((one) => one.error === 'insufficient_scope') : undefined
  // The one refusal that clients know how to mend by themselves: they ask the issuer for a token with more scopes.
  if (step !== undefined) {
    return { ok: false, refusal: { kind: 'step-up', advice: [{ scope: server.scopes.join(' '), ...step }] } }
  }
  return ok({ content: [{ type: 'text', text: failureText(error) }], isError: true })
}
