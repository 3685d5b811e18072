// A temporary data folder with the generated graph, made by this program itself: `init`, a project with its policies through the
// configuration interface, and `import`. A bench asks it in process, or serves it and asks over HTTP.
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { OperationalError } from '../../kernel/errors.ts'
import { defaultSettings } from '../../settings.ts'
import { selfCommand } from '../settings/self-command.ts'
import { ServiceClient } from '../target/service-client.ts'
import { type GeneratedAction, type GeneratedGraph, generatedPolicies, importLines } from './generated-graph.ts'
import { type StartedProgram, startProgram } from './started-program.ts'

const PROJECT = 'bench'
const WRITE_BYTES = 1 << 20
/** The first change of the configuration starts a lane, which takes long on a busy machine. */
const LANE_WAIT_MS = '60000'

/** A data folder in a temporary folder. */
interface GeneratedFolder {
  readonly data: string
  readonly project: string
  /** The key of an application agent. */
  readonly key: string
  /** Serves the folder until `stop`. */
  serve(): Promise<{ readonly url: string } & StartedProgram>
  remove(): void
}

/** Makes the folder. Throws OperationalError, and CliError if the started service refuses a request. */
export async function createGeneratedFolder(
  graph: GeneratedGraph,
  actions: readonly GeneratedAction[],
): Promise<GeneratedFolder> {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-bench-'))
  const data = join(folder, 'data')
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  try {
    const { token, organization_id } = JSON.parse(await run(['init', '--data', data, '--json']))
    const serve = async () => {
      const started = await startProgram(selfCommand(['serve', '--data', data, '--port', '0']), {
        environment: ownEnvironment(),
        isReady: (output) => /listening on (http\S+)\n/.exec(output)?.[1] ?? null,
      })
      return { ...started, url: started.ready }
    }
    const service = await serve()
    let configured: { readonly project: string; readonly key: string }
    try {
      configured = await configure(service.url, token, organization_id, actions)
    } finally {
      await service.stop()
    }
    const lines = join(folder, 'graph.ndjson')
    writeLines(lines, graph)
    await run(['import', '--data', data, '--project', configured.project, '--in', lines])
    rmSync(lines)
    return { data, ...configured, serve, remove }
  } catch (error) {
    remove()
    throw error
  }
}

/** The environment of the started programs: without settings of this one, whose data folder is another. */
function ownEnvironment(): Record<string, string> {
  const entries = Object.entries(process.env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !entry[0].startsWith('VERDIGRAPH_'),
  )
  return { ...Object.fromEntries(entries), VERDIGRAPH_LOG_LEVEL: 'error', VERDIGRAPH_LANE_WAIT_MS: LANE_WAIT_MS }
}

async function run(args: readonly string[]): Promise<string> {
  const child = Bun.spawn(selfCommand(args), { env: ownEnvironment(), stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' })
  const [stdout, stderr, exitCode] = await Promise.all([child.stdout.text(), child.stderr.text(), child.exited])
  if (exitCode !== 0) throw new OperationalError(`${args[0]} ended with ${exitCode}: ${stderr.trim()}`)
  return stdout
}

async function configure(
  url: string,
  token: string,
  organization_id: string,
  actions: readonly GeneratedAction[],
): Promise<{ readonly project: string; readonly key: string }> {
  const client = new ServiceClient(defaultSettings, url, token)
  const call = async (method: string, path: string, body?: object): Promise<Record<string, string>> =>
    (await client.call(method, path, body)) as Record<string, string>
  const { id: project_id = '' } = await call('POST', 'projects', { organization_id, name: PROJECT, region: 'local' })
  while ((await call('GET', `projects/${project_id}`)).ikg_status !== 'ACTIVE') await Bun.sleep(20)
  const { id: application_id } = await call('POST', 'applications', { project_id, name: PROJECT })
  const agent = { application_id, name: PROJECT, api_permissions: ['Authorization'] }
  const { id: application_agent_id } = await call('POST', 'application-agents', agent)
  const { api_key: key = '' } = await call('POST', 'application-agent-credentials', { application_agent_id })
  for (const action of actions) {
    const policy = JSON.stringify({
      meta: { policy_version: '3.0-kbac' },
      subject: { type: 'Person' },
      actions: [action],
      resource: { type: 'Document' },
      condition: { cypher: generatedPolicies[action] },
    })
    await call('POST', 'authorization-policies', { project_id, name: action, policy, status: 'ACTIVE' })
  }
  return { project: project_id, key }
}

function writeLines(path: string, graph: GeneratedGraph): void {
  const file = openSync(path, 'w')
  try {
    let text = ''
    for (const line of importLines(graph)) {
      text += `${line}\n`
      if (text.length < WRITE_BYTES) continue
      writeSync(file, text)
      text = ''
    }
    writeSync(file, text)
  } finally {
    closeSync(file)
  }
}
