// The MCP server of a project and its tools, which can be called.
import { useState } from 'preact/hooks'
import { ApiError, call, type SessionState } from '../api.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { Empty, Failure, Loading } from '../parts/feedback.tsx'
import { useData } from '../use-data.ts'
import { callTool, exampleOf, type ListedTool, listTools, serverPath, type ToolAnswer } from './mcp-client.ts'

interface ReadServer {
  readonly id: string
  readonly name: string
  readonly display_name: string
  readonly enabled: boolean
  readonly application_queries: boolean
  readonly scopes_supported: readonly string[]
}

/** The MCP server of a project. */
export function ToolsView({ projectId, role }: { readonly projectId: string; readonly role: SessionState['role'] }) {
  const servers = useData(
    (signal) =>
      call<{ readonly data: readonly ReadServer[] }>(
        'GET',
        `/configs/v1/mcp-servers?project_id=${encodeURIComponent(projectId)}&full_fetch=true`,
        { signal },
      ),
    [projectId],
  )
  if (servers.error !== null && servers.value === null) return <Failure error={servers.error} retry={servers.reload} />
  if (servers.value === null) return <Loading />
  const { data } = servers.value
  if (data.length === 0)
    return (
      <Empty icon="swap" title="The project has no MCP server">
        <p>An MCP server offers decisions and knowledge queries as tools to AI agents.</p>
      </Empty>
    )
  const address = `${location.origin}${serverPath(projectId)}`
  return (
    <div class="stack gap-16">
      {data.map((server) => (
        <section class="card" key={server.id} aria-label={`MCP server ${server.name}`}>
          <div class="card-head">
            <h2>
              {server.display_name || server.name}{' '}
              <span class={`badge ${server.enabled ? 'is-granted' : ''}`}>
                {server.enabled ? 'enabled' : 'disabled'}
              </span>
            </h2>
            <small>
              {server.application_queries ? 'queries of the application' : 'queries of the user'}
              {server.scopes_supported.length > 0 && `, scopes ${server.scopes_supported.join(' ')}`}
            </small>
          </div>
          <div class="code">
            <pre>
              <code>{address}</code>
            </pre>
            <CopyButton text={address} label="Copy the address" />
          </div>
        </section>
      ))}
      {data.some(({ enabled }) => enabled) && <ToolList projectId={projectId} role={role} />}
    </div>
  )
}

function ToolList({ projectId, role }: { readonly projectId: string; readonly role: SessionState['role'] }) {
  const tools = useData((signal) => listTools(projectId, signal), [projectId])
  if (tools.error !== null && tools.value === null) return <Failure error={tools.error} retry={tools.reload} />
  if (tools.value === null) return <Loading />
  return (
    <section class="card" aria-labelledby="tools">
      <h2 id="tools">Tools</h2>
      <p class="soft">
        Try calls the tool over the public endpoint, with the rights of your session instead of those of a user.
      </p>
      <ul class="tools">
        {tools.value.map((tool) => (
          <li key={tool.name}>
            <details>
              <summary>
                <code>{tool.name}</code>
                <span>{tool.title}</span>
              </summary>
              <p>{tool.description}</p>
              {role === 'all_editor' ? (
                <TryTool projectId={projectId} tool={tool} />
              ) : (
                <p class="soft">A viewer may not call tools.</p>
              )}
            </details>
          </li>
        ))}
      </ul>
    </section>
  )
}

function TryTool({ projectId, tool }: { readonly projectId: string; readonly tool: ListedTool }) {
  const [text, setText] = useState(() => JSON.stringify(exampleOf(tool.inputSchema), null, 2))
  const [answer, setAnswer] = useState<ToolAnswer | null>(null)
  const [error, setError] = useState<Error | null>(null)
  const [isBusy, setBusy] = useState(false)
  const id = `arguments-${tool.name}`
  const submit = (event: Event): void => {
    event.preventDefault()
    setError(null)
    setAnswer(null)
    let args: unknown
    try {
      args = JSON.parse(text)
    } catch (failure) {
      setError(new ApiError(0, `The arguments are not JSON: ${(failure as Error).message}`, []))
      return
    }
    setBusy(true)
    callTool(projectId, tool.name, args)
      .then(setAnswer, setError)
      .finally(() => setBusy(false))
  }
  return (
    <form class="stack gap-10 try" onSubmit={submit}>
      <div class="field">
        <label for={id}>Arguments, as JSON</label>
        <textarea
          id={id}
          rows={Math.min(14, text.split('\n').length + 1)}
          spellcheck={false}
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
      </div>
      <button type="submit" class="primary" disabled={isBusy} aria-label={`Try ${tool.name}`}>
        Try
      </button>
      {error !== null && <Failure error={error} />}
      {answer !== null && (
        <div class={answer.isError === true ? 'notice is-bad' : 'code'} role="status">
          <pre>
            <code>
              {answer.structuredContent === undefined
                ? answer.content.map((part) => part.text ?? '').join('\n')
                : JSON.stringify(answer.structuredContent, null, 2)}
            </code>
          </pre>
        </div>
      )}
    </form>
  )
}
